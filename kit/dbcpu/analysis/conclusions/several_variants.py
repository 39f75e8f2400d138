"""The findings of a run of several variants: what is of the host, and of no variant, counts in the rounds of all."""

from collections.abc import Callable, Mapping, Sequence

from msgspec.structs import replace

from dbcpu.analysis.conclusions.host_findings import Loaded, foreign_of, interrupts_of, steal_of
from dbcpu.analysis.conclusions.measurement_findings import not_sampled_of, not_settled_of
from dbcpu.analysis.host_usage.host_time import window_s
from dbcpu.analysis.results.run import Analysis
from dbcpu.record.findings import Finding
from dbcpu.record.rounds import Round

BY_ALL_ROUNDS: Mapping[str, Callable[[Sequence[Round]], Finding | None]] = {
    "steal": steal_of,
    "interrupts": interrupts_of,
    "not-settled": not_settled_of,
    "not-sampled": not_sampled_of,
}
"""By code: of the host, and made again of the rounds of all variants."""


def of_all_variants(found: Mapping[str, Analysis], rounds: Sequence[Round]) -> tuple[Finding, ...]:
    """The gravest first: those of the first variant, and those that only others have, which name theirs.

    What other processes did to the single sessions is said of the variant that the finding is of.
    """
    first, *others = found
    known = {each.code for each in found[first].findings}
    new = [(name, each) for name in others for each in found[name].findings if each.code not in known]
    kept: list[Finding] = []
    for name, each in (*((first, each) for each in found[first].findings), *new):
        whole = _of_all(each, name, found, rounds)
        if whole is None:
            kept.append(each if name == first else replace(each, seen=f"under {name}: {each.seen}"))
        elif each.code not in {other.code for other in kept}:
            kept.append(whole)
    return tuple(sorted(kept, key=lambda each: -each.level))


def _of_all(one: Finding, name: str, found: Mapping[str, Analysis], rounds: Sequence[Round]) -> Finding | None:
    """The same by the rounds of all variants; None of what is not of the host."""
    if one.code == "foreign-load":
        loaded = [Loaded.of(each, found[each.variant].vcpus, window_s(each)) for each in rounds]
        whole = foreign_of(loaded, [level for analysis in found.values() for level in analysis.levels])
        own = foreign_of([each for each in loaded if each.round.variant == name], ())
        if whole is None or own is None:
            return None
        moved = one.seen.removeprefix(own.seen) if one.seen.startswith(own.seen) else ""
        return replace(one, seen=whole.seen + moved, meaning=whole.meaning)
    whole = BY_ALL_ROUNDS[one.code](rounds) if one.code in BY_ALL_ROUNDS else None
    return whole and replace(one, seen=whole.seen)
