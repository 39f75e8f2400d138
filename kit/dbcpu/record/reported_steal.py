"""Is a steal of 0 a fact, or was it not reported? The one place that decides it.

Linux counts steal only where the hypervisor gives its guests a clock of it: KVM, Xen and PowerVM do; VMware does for a
VM with ``stealclock.enable = "TRUE"`` (hardware version 13, Linux 5.7); Hyper-V, with it Azure, and VirtualBox do not.
There /proc/stat shows 0, and what was stolen counts as CPU time of whoever was running.
Source: Linux, arch/x86/kernel/kvm.c and arch/x86/kernel/cpu/vmware.c (commit ab02bb3f55f5), where steal clocks are
registered; arch/x86/kernel/cpu/mshyperv.c registers none; lxcfs, proc_stat
"""

from collections.abc import Iterable

from dbcpu.record.header import RDS, Header, HostInfo
from dbcpu.record.rounds import Round, RunRecord

_REPORTED = ("kvm", "xen", "powervm")
"""How the names of hypervisors that report it begin."""
_SILENT = ("vmware", "hyper-v", "virtualbox")
_KVM_CLOCK = "kvm-clock"


def why_unseen(host: HostInfo | None, *, counted: bool) -> str:
    """Why a steal of 0 on this host is no evidence, in words; '' where it is, or where no host was seen.

    ``counted``: some steal was, so it is reported, whatever the hypervisor's name says.
    """
    if host is None or counted:
        return ""
    if "lxcfs" in host.facts:
        return "lxcfs shows no steal to this container"
    name = host.hypervisor
    # Where only QEMU is named, the clock says whether it is KVM or an emulation.
    if name is None or name.startswith(_REPORTED) or host.facts.get("clocksource") == _KVM_CLOCK:
        return ""
    if name in _SILENT:
        return f"steal is not reported on this hypervisor ({name})"
    return f"whether steal is reported on this hypervisor ({name}) is not known"


def may_hide_steal(header: Header) -> str:
    """The same before anything was counted, also where no host was seen: then nobody says which hypervisor it is.

    A database on Amazon RDS is a guest of KVM or Xen, whose kernel leaves steal out of busy and idle time.
    """
    if header.host is not None:
        return _before(header)
    return "" if header.database.service == RDS else "whether the host reports steal is not known"


def steal_unseen(record: RunRecord) -> str:
    """``why_unseen`` of a run."""
    unseen = _before(record.header)
    return "" if not unseen or was_counted(record.rounds) else unseen


def _before(header: Header) -> str:
    """``why_unseen`` by what is known before anything is counted; an imported file names no hypervisor."""
    if header.is_imported and header.host is not None and header.host.hypervisor is None:
        return "whether the host reports steal is not known: the imported file does not name its hypervisor"
    return why_unseen(header.host, counted=False)


def was_counted(rounds: Iterable[Round]) -> bool:
    """Whether any CPU of these rounds had any steal."""
    return any(step > 0 for each in rounds for row in each.cpu_timeline for step in row.steal_s)
