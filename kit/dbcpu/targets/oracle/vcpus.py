"""How many CPUs the instance may use, from what it says itself: pure.

The plan of a container database's root is not visible in a pluggable one, and under it a database uses no more CPUs
than its CPU_COUNT: so a CPU_COUNT below the host's CPUs counts, also where no caging is seen.
Source: Oracle Database Reference, CPU_COUNT.
"""

from collections.abc import Mapping

FREE_CPUS, STANDARD_CPUS = 2, 16
"""CPUs that Free and Express Edition (documented as cores) and Standard Edition 2 (threads) use at most.

Source: Oracle Database Free Installation Guide, Licensing Restrictions; Licensing Information User Manual.
"""


_SE2_SINCE = (12, 1, 0, 2)
"""From this version on the only Standard Edition is Standard Edition 2, though 12c's product name has no 2."""


def edition_cap(product: str, version: str = "") -> tuple[int, str] | None:
    """CPUs an edition uses at most, and its name; None for Enterprise Edition and what is not known.

    The older Standard Edition and Standard Edition One, of versions below 12.1.0.2, were limited by sockets alone.
    """
    name = product.lower()
    parts = tuple(int(part) for part in version.split(".")[:4] if part.isdecimal())
    if "express edition" in name or name.endswith(" free") or " free " in name:
        return FREE_CPUS, "Free" if "free" in name else "Express Edition"
    if "standard edition 2" in name or ("standard edition" in name and parts >= _SE2_SINCE):
        return STANDARD_CPUS, "Standard Edition 2"
    return None


def usable(
    osstat: Mapping[str, float], parameters: Mapping[str, str], product: str, caged: bool, version: str = ""
) -> tuple[int, str] | None:
    """The least of what the host has, a cage and the edition allow; with the name of what decided.

    Args:
        osstat: V$OSSTAT, {} if it may not be read.
        parameters: V$PARAMETER, likewise.
        caged: whether instance caging is on.
    """
    found: list[tuple[int, str]] = []
    cpu_count = int(parameters["cpu_count"]) if parameters.get("cpu_count", "").isdecimal() else 0
    if "NUM_CPUS" in osstat:
        found.append((int(osstat["NUM_CPUS"]), "v$osstat NUM_CPUS"))
    if cpu_count and (caged or not found or cpu_count < found[0][0]):
        found.append((cpu_count, "cpu_count (instance caging)" if caged else "cpu_count"))
    if not found:
        return None
    if cap := edition_cap(product, version):
        found.append((cap[0], f"edition cap of {cap[1]}"))
    return min(found, key=lambda each: each[0])
