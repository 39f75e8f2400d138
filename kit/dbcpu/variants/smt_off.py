"""Second hardware threads are switched off for the whole host: by smt/control, else by taking siblings offline.

Siblings are found by the kernel's lists (never as "the second half"), and the lowest CPU of each core stays, so that
CPU 0 always does. Sources: cpu-hotplug.rst, ABI/testing/sysfs-devices-system-cpu
"""

from dbcpu.record import HostInfo
from dbcpu.variants.base import Change, Place, no_argument, unreachable

SCOPE = "host"
ARGUMENT = ""
CONTROL = "/sys/devices/system/cpu/smt/control"
ONLINE = "/sys/devices/system/cpu/cpu{}/online"
_OFF = ("off", "forceoff")
_NO_CONTROL = ("notsupported", "notimplemented", "")


def check(argument: str) -> None:
    no_argument("smt_off", argument)


def why_not(argument: str, place: Place) -> str | None:
    host = place.host
    if host is None or unreachable(place):
        return unreachable(place)
    if host.topology.smt_control in _OFF:
        return f"SMT is off already (control: {host.topology.smt_control})"
    if not siblings(host):
        return "no two siblings are online: there is nothing to switch off, as far as the kernel is told"
    if host.container:
        return f"in a {host.container} container the CPUs of the host cannot be changed; use one_per_core"
    return None


def changes(argument: str, place: Place, sessions: int) -> tuple[Change, ...]:
    assert place.host is not None
    control = place.host.topology.smt_control or ""
    if control not in (*_NO_CONTROL, *_OFF):
        return (Change(f"file:{CONTROL}", control, "off"),)
    return tuple(Change(f"file:{ONLINE.format(cpu)}", "1", "0") for cpu in siblings(place.host))


def siblings(host: HostInfo) -> tuple[int, ...]:
    """Online CPUs that are not the lowest of their core, the highest first; of the whole host, allowed or not."""
    online = [each for each in host.topology.cpus if each.online]
    return tuple(sorted((each.cpu for each in online if each.cpu != min(each.siblings)), reverse=True))
