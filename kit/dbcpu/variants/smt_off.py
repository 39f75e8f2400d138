"""Second hardware threads are switched off for the whole host: by smt/control, else by taking siblings offline.

Siblings are found by the kernel's lists (never as "the second half"), and the lowest CPU of each core stays, so that
CPU 0 always does. Sources: cpu-hotplug.rst, ABI/testing/sysfs-devices-system-cpu
"""

from dbcpu.variants.base import ONLINE_FILE, Change, VariantContext, no_argument, unreachable

SCOPE = "host"
ARGUMENT = ""
HELP = "SMT off for the whole host (needs root)"
ROOT_HINT = "one_per_core needs no root"
_CONTROL = "/sys/devices/system/cpu/smt/control"
_OFF = ("off", "forceoff")
_NO_CONTROL = ("notsupported", "notimplemented", "")


def check(argument: str) -> None:
    no_argument("smt_off", argument)


def why_not(argument: str, context: VariantContext) -> str | None:
    host = context.host
    if host is None or unreachable(context):
        return unreachable(context)
    if so := already(argument, context):
        return so
    if host.container:
        return f"in a {host.container} container the CPUs of the host cannot be changed; use one_per_core"
    return None


def already(argument: str, context: VariantContext) -> str | None:
    assert context.host is not None
    if context.host.topology.smt_control in _OFF:
        return f"SMT is off already (control: {context.host.topology.smt_control})"
    if not offline_cpus(argument, context):
        return "no two siblings are online: SMT is off or absent, or the hypervisor hides it"
    return None


def changes(argument: str, context: VariantContext, sessions: int) -> tuple[Change, ...]:
    assert context.host is not None
    control = context.host.topology.smt_control or ""
    if control not in (*_NO_CONTROL, *_OFF):
        return (Change(f"file:{_CONTROL}", control, "off"),)
    return tuple(Change(f"file:{ONLINE_FILE.format(cpu)}", "1", "0") for cpu in offline_cpus(argument, context))


def offline_cpus(argument: str, context: VariantContext) -> tuple[int, ...]:
    """Online CPUs that are not the lowest of their core, the highest first; of the whole host, allowed or not."""
    assert context.host is not None
    online = [cpu for cpu in context.host.topology.cpus if cpu.online]
    return tuple(sorted((cpu.cpu for cpu in online if cpu.cpu != min(cpu.siblings)), reverse=True))
