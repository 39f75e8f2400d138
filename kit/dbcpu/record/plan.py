"""Which rounds are run, in which order, with how much work: pure, so that a seed gives the same plan everywhere."""

import math
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from msgspec import Struct

from dbcpu.errors import UsageError
from dbcpu.formatting import as_whole_number

if TYPE_CHECKING:
    from dbcpu.record.header import Header
    from dbcpu.record.rounds import Round  # `dbcpu --help` needs no record

MAX_SESSIONS = 10_000
MAX_PACE_HZ = 25.0
"""Pieces of the witness per second and CPU."""
PACE_PIECES = 30
"""Beside one session: with so many its time at one pace is known to 3 % (one standard deviation)."""
MIN_PACE_PIECES = 15
"""Beside one session: with fewer its pace is less certain than its time."""
PACE_LEAD_S = 0.6
"""Before each release the CPUs' pace without any session is seen for so long."""
SMALL_HOST_VCPUS = 16
SPREAD, PACK = "spread", "pack"
"""Variants that differ in placement alone: what sharing a core costs is computed from these two."""
SMT_OFF, ONE_PER_CORE, CPUS, NCPUS, NODE, MEMORY, ACTIVE = (
    "smt_off", "one_per_core", "cpus", "ncpus", "node", "memory", "active",
)  # fmt: skip
"""Other variants that explaining or simulating knows by name. Neither may import the room of variants, whose members
these are (tests/contracts/test_contract_variants.py)."""
NOT_VARIED = "variant {} is left out: "
"""Begins the note of a run about a variant that changes nothing there."""
ROUND_OVERHEAD_S = 0.6
"""Of a round, beside its work."""
ANCHOR_EXECUTIONS = 5
"""Of the single session before and after a pool (its jobs) or a simulated soak, where there is work for as many."""
QUICK, NORMAL, COMPARE = 3, 6, 10
"""Repeats: 3 against 3 cannot be significant (minimum two-sided p of Mann-Whitney's U: 0.10); 6 and 10 can."""


class RoundSpec(Struct, frozen=True):
    """One round to run: ``level`` sessions at once. Fields as in ``record.Round``."""

    level: int
    repeat: int
    variant: str
    order: int
    anchor: bool = False


NextRound = Callable[[Sequence["Round"]], RoundSpec | None]
"""The next round, given those so far; None for the end. ``measure`` asks it before each round."""

Planner = Callable[["Header"], NextRound]
"""Makes a ``NextRound``, once the target and the host are known."""


def parse_levels(text: str, vcpus: int, cores: int | None = None, option: str = "--sessions") -> tuple[int, ...]:
    """Levels from ``4``, ``1-8``, ``1,2,4,8``, a mixture, ``auto``, or ``few``. ``option``: how the user gave them.

    Raises:
        UsageError: not in that form, below 1, or above 10,000 sessions.
    """
    if text.strip() == "auto":
        return auto_levels(vcpus, cores)
    if text.strip() == "few":
        return few_levels(vcpus, cores)
    levels: set[int] = set()
    for part in text.split(","):
        low, dash, high = part.strip().partition("-")
        first = as_whole_number(low)
        last = as_whole_number(high) if dash else first
        if first is None or last is None:
            raise UsageError(
                f"{option} {text[:80]!r}: {part[:40]!r} is no number or range; give 4, 1-8, 1,2,4,8, auto or few"
            )
        if not 1 <= first <= last <= MAX_SESSIONS:
            raise UsageError(
                f"{option} {text!r}: {part!r} is not a range within 1 to {MAX_SESSIONS}; give 4, 1-8 or auto"
            )
        levels.update(range(first, last + 1))
    return tuple(sorted(levels))


def few_levels(vcpus: int, cores: int | None) -> tuple[int, ...]:
    """Levels of a nightly run: a single session, a session per core, one more, a session per vCPU."""
    per_core = cores or vcpus
    return tuple(sorted({1, per_core, per_core + 1, vcpus}))


def auto_levels(vcpus: int, cores: int | None = None) -> tuple[int, ...]:
    """Every N to 1.25 x vCPUs and 2 x vCPUs on small hosts; on large ones those near a possible knee.

    ``cores``: as the kernel reports them; half of the vCPUs is measured as well: SMT may be hidden.
    """
    v, c = vcpus, cores or vcpus // 2
    if v <= SMALL_HOST_VCPUS:
        wanted: Iterable[int] = (*range(1, math.ceil(1.25 * v) + 1), 2 * v)
    else:
        wanted = (1, 2, v // 4, v // 2 - 1, v // 2, v // 2 + 1, 3 * v // 4, v - 1, v, v + 1, math.ceil(1.25 * v), 2 * v)
        if c not in (v, v // 2):
            wanted = (*wanted, c // 2, c - 1, c, c + 1, 2 * c)
    return tuple(sorted({n for n in wanted if n >= 1}))


def rounds(levels: tuple[int, ...], repeats: int, seed: int, variants: tuple[str, ...]) -> tuple[RoundSpec, ...]:
    """The order of rounds: levels shuffled within each repeat, solo rounds spread evenly from first to last.

    Solo rounds are the reference and show drift. Where the levels bring too few, anchors are added,
    up to three. Variants follow each other in ABBA order.

    Raises:
        UsageError: ``repeats`` is not between 1 and 1000.
    """
    if not 1 <= repeats <= 1000:
        raise UsageError(
            f"--repeats {repeats} is not between 1 and 1000; {NORMAL} is usual, {COMPARE} to compare hosts"
        )
    shuffler = random.Random(seed)  # noqa: S311 - an order, not a secret
    others: list[tuple[int, int, str]] = []
    for repeat in range(repeats):
        loaded = [level for level in levels if level > 1]
        shuffler.shuffle(loaded)
        in_order = variants if repeat % 2 == 0 else variants[::-1]
        others += [(level, repeat, variant) for level in loaded for variant in in_order]
    solos: list[tuple[int, int, str]] = []
    solo_repeats = repeats if 1 in levels else 0
    for repeat in range(max(solo_repeats, min(3, 1 + len(others)))):
        in_order = variants if repeat % 2 == 0 else variants[::-1]
        solos += [(1, repeat, variant) for variant in in_order]
    merged = _spread(solos, others)
    return tuple(
        RoundSpec(level, repeat, variant, order, anchor=level == 1 and repeat >= solo_repeats)
        for order, (level, repeat, variant) in enumerate(merged)
    )


def blocks(levels: Mapping[str, Sequence[int]], repeats: int, seed: int) -> tuple[RoundSpec, ...]:
    """Rounds of several variants (``levels`` by variant): per repeat each variant in turn, forwards, then backwards.

    Within its turn a variant's levels are shuffled, in the same order for all, so that a host setting is changed once
    per turn and slow drift falls on all variants alike (ABBA). If the first variant's levels have no single
    session, it gets an anchor first and last.

    Raises:
        UsageError: ``repeats`` is not between 1 and 1000.
    """
    if not 1 <= repeats <= 1000:
        raise UsageError(
            f"--repeats {repeats} is not between 1 and 1000; {NORMAL} is usual, {COMPARE} to compare variants"
        )
    shuffler = random.Random(seed)  # noqa: S311 - an order, not a secret
    variants, every = list(levels), sorted({level for of_variant in levels.values() for level in of_variant})
    made: list[tuple[int, int, str, bool]] = []
    for repeat in range(repeats):
        shuffler.shuffle(every)
        for variant in variants if repeat % 2 == 0 else variants[::-1]:
            made += [(level, repeat, variant, False) for level in every if level in levels[variant]]
    if 1 not in levels[variants[0]]:
        made = [(1, 0, variants[0], True), *made, (1, 1, variants[0], True)]
    return tuple(RoundSpec(level, repeat, variant, order, anchor)
                 for order, (level, repeat, variant, anchor) in enumerate(made))  # fmt: skip


def _spread(solos: list[tuple[int, int, str]], others: list[tuple[int, int, str]]) -> list[tuple[int, int, str]]:
    gaps = max(1, len(solos) - 1)
    merged: list[tuple[int, int, str]] = []
    for position, solo in enumerate(solos):
        merged.append(solo)
        first, last = (round(len(others) * edge / gaps) for edge in (position, position + 1))
        merged += others[first:last]
    return merged


def executions_for(seconds: float, solo_s: float) -> int:
    """How many executions of ``solo_s`` fill ``seconds``; at least one."""
    return max(1, round(seconds / max(solo_s, 1e-6)))


def estimate_s(specs: Iterable[RoundSpec], solo_work_s: float, vcpus: int) -> float:
    """Expected wall seconds of the rounds if a single session takes ``solo_work_s`` for its work."""
    return sum(solo_work_s * max(1.0, spec.level / max(1, vcpus)) + ROUND_OVERHEAD_S for spec in specs)


def fixed(specs: Sequence[RoundSpec]) -> NextRound:
    """The rounds in their order, whatever their results."""
    return lambda done: specs[len(done)] if len(done) < len(specs) else None


def not_varied(notes: Iterable[str]) -> tuple[str, ...]:
    """The sentences about variants that were requested and left out, of a run's ``notes``."""
    before, after = NOT_VARIED.split("{}")
    return tuple(note for note in notes if note.startswith(before) and after in note)


def jobs_that_wait(pieces: int, blocking: int) -> tuple[bool, ...]:
    """Which of a pool's jobs only wait, in their order: ``blocking``, spread evenly, the same in every round."""
    before = [(at * blocking + pieces // 2) // pieces for at in range(pieces + 1)]
    return tuple(after > earlier for earlier, after in pairwise(before))
