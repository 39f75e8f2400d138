"""How many CPUs the instance may use, from what it says itself: pure.

A CPU_COUNT below the host's CPUs limits an Enterprise Edition only while a resource plan is active, in a pluggable
database one of the root. That one is not visible there, but what Resource Manager lets the database use is (12.2).
Editions with a cap enforce it without a plan. An instance in a processor group runs on the CPUs of that group alone;
their number is CPU_COUNT, where nobody has set another.
Source: Oracle Database Reference, CPU_COUNT, PROCESSOR_GROUP_NAME, V$RSRCPDBMETRIC; Administrator's Guide, Enabling
Instance Caging.
"""

from dbcpu.formatting import version_numbers
from dbcpu.targets.oracle.facts import Facts

FREE_CPUS, STANDARD_CPUS, STANDARD_RAC_CPUS, OLD_EXPRESS_CPUS = 2, 16, 8, 1
"""CPUs that Free and Express Edition (documented as cores) and Standard Edition 2 (threads) use at most; the latter in
a cluster (each instance; up to 18c, later it has none), and Express Edition 11.2.

Source: Oracle Database Free Installation Guide, Licensing Restrictions; Licensing Information User Manual; Oracle
Database Express Edition Licensing Information 11.2.
"""
_EXPRESS_SINCE = (18,)
"""From this version on Express Edition uses two CPUs."""


_SE2_SINCE = (12, 1, 0, 2)
"""From this version on the only Standard Edition is Standard Edition 2, though 12c's product name has no 2."""


def edition_cap(product: str, version: str = "", *, cluster: bool = False) -> tuple[int, str] | None:
    """CPUs an edition uses at most, and its name; None for Enterprise Edition and what is not known.

    The older Standard Edition and Standard Edition One, of versions below 12.1.0.2, were limited by sockets alone.
    """
    name = product.lower()
    parts = version_numbers(version, 4)
    if "express edition" in name or name.endswith(" free") or " free " in name:
        old = "free" not in name and () < parts < _EXPRESS_SINCE
        return OLD_EXPRESS_CPUS if old else FREE_CPUS, "Free" if "free" in name else "Express Edition"
    if "standard edition 2" in name or ("standard edition" in name and parts >= _SE2_SINCE):
        return STANDARD_RAC_CPUS if cluster else STANDARD_CPUS, "Standard Edition 2"
    return None


def count_limits(facts: Facts) -> bool | None:
    """Whether CPU_COUNT limits the CPU that this database gets; None where a plan may be active that is not seen."""
    if facts.caged or cap_of(facts) is not None or group_cpus(facts) is not None:
        return True
    count = cpu_count(facts)
    if facts.managed is not None and count is not None and (facts.managed <= count or not processor_group(facts)):
        return facts.managed <= count
    # One that was set in a processor group may be less than the group has, and the group less than the host.
    return False if facts.plan_visible and not processor_group(facts) else None


def processor_group(facts: Facts) -> str:
    """The group of CPUs of the operating system to which the instance is bound, by name; '' for none."""
    return facts.parameters.get("processor_group_name", "")


def group_cpus(facts: Facts) -> int | None:
    """How many CPUs the processor group has; None without one, and where CPU_COUNT was set and need not be that."""
    return cpu_count(facts) if processor_group(facts) and not facts.count_given else None


def cap_of(facts: Facts) -> tuple[int, str] | None:
    """See ``edition_cap``."""
    return edition_cap(facts.product, facts.version, cluster=bool(facts.cluster))


def cpu_count(facts: Facts) -> int | None:
    """The parameter, None where it is not set, or may not be read."""
    text = facts.parameters.get("cpu_count", "")
    return int(text) or None if text.isdecimal() else None


def usable(facts: Facts) -> tuple[int, str] | None:
    """The least of what the host and a processor group have, a cage and the edition allow; with what decided.

    None where that is unknown, as with a CPU_COUNT below the host's CPUs of which it is not known whether it limits.
    """
    found: list[tuple[int, str]] = []
    count, limits = cpu_count(facts), count_limits(facts)
    there = int(facts.osstat["NUM_CPUS"]) if "NUM_CPUS" in facts.osstat else None
    if there is not None:
        found.append((there, "v$osstat NUM_CPUS"))
    if count is not None and (limits or there is None):
        found.append((count, _named(facts)))
    elif count is not None and limits is None and there is not None and count < there:
        return None
    if facts.managed is not None:
        found.append((facts.managed, "v$rsrcpdbmetric"))
    if not found:
        return None
    if cap := cap_of(facts):
        found.append((cap[0], f"edition cap of {cap[1]}"))
    return min(found, key=lambda each: each[0])


def _named(facts: Facts) -> str:
    """What makes CPU_COUNT a limit."""
    if facts.caged:
        return "cpu_count (instance caging)"
    return f"cpu_count (processor group {processor_group(facts)})" if group_cpus(facts) is not None else "cpu_count"
