"""vCPUs and cores that the user gives for hosts that could not be looked at, such as a managed database's."""

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from dbcpu.analysis.comparison.compare import Candidate
from dbcpu.errors import UnknownName, UsageError
from dbcpu.formatting import as_whole_number
from dbcpu.measure.preflight import cores_of
from dbcpu.record.rounds import RunRecord

NamedSide = tuple[str, tuple[Candidate, ...]]


def with_shapes(
    sides: Sequence[NamedSide], vcpus: Sequence[str] = (), cores: Sequence[str] = (), threads: Sequence[str] = ()
) -> list[NamedSide]:
    """The sides, with these numbers where their hosts do not show them.

    Each is ``N`` for all such sides, or ``NAME=N`` for one. What a host shows is never replaced.

    Raises:
        UsageError: no number, no such side, one whose host shows its CPUs, or numbers that contradict each other.
    """
    names = [name for name, _ in sides]
    given = {
        option: _by_name(option, texts, names)
        for option, texts in (("--vcpus", vcpus), ("--cores", cores), ("--threads-per-core", threads))
    }
    unseen = any(not _shows_cpus(each.record) for _, candidates in sides for each in candidates)
    for option, values in given.items():
        if "" in values and not unseen:
            raise UsageError(f"every host of this comparison shows its own CPUs and cores, so leave {option} out")
    return [
        (name, tuple(replace(each, record=_shaped(name, each.record, given)) for each in candidates))
        for name, candidates in sides
    ]


def _shows_cpus(record: RunRecord) -> bool:
    return record.header.host is not None and bool(record.header.host.topology.cpus)


def _by_name(option: str, texts: Sequence[str], names: Sequence[str]) -> dict[str, int]:
    found: dict[str, int] = {}
    for text in texts:
        name, _, number = text.rpartition("=")
        if (amount := as_whole_number(number, 1, 100_000)) is None:
            raise UsageError(f"{option} {text[:80]} is no number from 1 to 100000; give N or NAME=N")
        if name and name not in names:
            raise UnknownName("run of this comparison", name, names)
        found[name] = amount
    return found


def _shaped(name: str, record: RunRecord, given: Mapping[str, Mapping[str, int]]) -> RunRecord:
    header = record.header
    if _shows_cpus(record):
        named = next((option for option, values in given.items() if name in values), None)
        if named is not None:
            raise UsageError(f"{name} shows its own CPUs and cores, so {named} {name}=N is not possible; leave it out")
        return record
    vcpus, cores, threads = (values.get(name, values.get("")) for values in given.values())
    vcpus = vcpus or header.plan.vcpus
    cores = cores_of(cores, threads, vcpus) or header.plan.cores
    if (vcpus, cores) == (header.plan.vcpus, header.plan.cores):
        return record
    return replace(record, header=replace(header, plan=replace(header.plan, vcpus=vcpus, cores=cores)))
