"""What of one kind of host the work of an old one takes: vCPUs and cores, licences and price, and how sure that is."""

from msgspec import Struct

from dbcpu.analysis.comparison.host_kind import Kind
from dbcpu.analysis.results.comparison import Decision


class Need(Struct, frozen=True):
    """What of one kind of host the old work takes; None without a rule (licences, price), or if cores are unknown.

    ``decision``: on the throughput of both hosts, where it shows no difference of which the number may be. ``least``
    and ``most``: vCPUs by its 95 % interval, None where that is not known. ``total_vcpus``: by the throughput of all
    sessions together, whatever the shares; where few are served fairly the rest is of that, too, with no ``most``, and
    where vCPUs share cores unseen, or a quota has fewer cores behind it, ``least`` begins with it. ``as_measured``: few
    are served fairly, and these do the work: all vCPUs of the measured host.
    """

    kind: Kind
    vcpus: int
    cores: int | None
    total_vcpus: int
    licences: int | None = None
    price: float | None = None
    decision: Decision | None = None
    least: int | None = None
    most: int | None = None
    as_measured: bool = False

    @property
    def by_totals(self) -> bool:
        """Whether the number is by total throughput, for too few sessions are served fairly."""
        return self.kind.few_are_fair and not self.as_measured

    @property
    def at_equal_shares(self) -> bool:
        """Whether its size is that at which shares are equal, and neither by totals nor by cores that are not shown."""
        return self.as_measured or self.kind.at_equal_shares

    @property
    def is_decided(self) -> bool:
        """Whether the number of vCPUs is the same whatever the throughput of the interval is, at equal shares."""
        if self.by_totals:
            return False
        if self.least is None:
            return self.decision is None
        return self.least == self.most

    @property
    def range_words(self) -> str:
        """``24``; where it is not decided ``20 to 30``, ``at least 15``, or ``an unknown number of``."""
        if self.is_decided:
            return str(self.vcpus)
        if self.least is None:
            return "an unknown number of"
        return range_words(self.least, self.most)

    @property
    def words(self) -> str:
        """``24 vCPUs of NAME``, or ``3 CPUs of quota on NAME``."""
        return f"{self.vcpus_words} {'of' if self.kind.quota is None else 'on'} {self.kind.name}"

    @property
    def vcpus_words(self) -> str:
        """With the unit: ``24 vCPUs``, or CPUs of a quota."""
        unit = "vCPU" if self.kind.quota is None else "CPU"
        one = self.vcpus == 1 and self.is_decided
        return f"{self.range_words} {unit}{'' if one else 's'}{'' if self.kind.quota is None else ' of quota'}"


def range_words(least: int, most: int | None) -> str:
    """``24``, ``20 to 30``, or ``at least 15`` where the most is not known."""
    if most is None:
        return f"at least {least}"
    return str(least) if least == most else f"{least} to {most}"
