"""The command that measured a run, and remedies with its options: a soak has no ``--repeats``, a script no ``--size``.

Findings and verdicts are written for ``dbcpu run``. What another command of dbcpu, a script of the shell kit, or
another program measured is measured again by its own options.
"""

import re
from collections.abc import Iterator, Mapping
from itertools import cycle
from string import ascii_uppercase

from msgspec import Struct

from dbcpu.errors import without_password
from dbcpu.formatting import short_ranges
from dbcpu.record.header import AA, ANONYMOUS, BASELINE, POOL, SOAK, SWEEP, TOGETHER, Header, Plan
from dbcpu.record.plan import NORMAL, QUICK
from dbcpu.record.run_findings import (
    AS_JSON,
    ENOUGH_REPEATS,
    LONGER_EXECUTIONS,
    LONGER_ROUNDS,
    MEASURE_AGAIN,
    SHORTER_ROUNDS,
    WITH_A_SINGLE_SESSION,
)

_NAME = re.compile(r"[\w:,.-]+")
"""Of a variant, as it can stand in a shell."""
_TARGET = re.compile(r"[\w./:@+-]+")
"""The same of a target, its URL included."""
_OWN_NUMBER = re.compile(r"(embedded|shell|sqlite)-\d+")
"""A target without a name of its own that runs several times together."""
_REPEATS_OPTION = re.compile(r"`--repeats (\w+)`")


class _Origin(Struct, frozen=True):
    """Words of a remedy of ``dbcpu run`` and what stands for them; ``repeats`` for so many: a pattern's replacement."""

    words: Mapping[str, str]
    repeats: str


def _script(name: str, levels: str, longer: str, rounds: str) -> _Origin:
    """``longer`` has longer executions, ``rounds`` longer rounds; ``levels`` goes on with numbers of sessions."""
    words = {
        LONGER_EXECUTIONS: longer,
        LONGER_ROUNDS: rounds,
        "`--size long`": longer,
        "`--workload ": "`-w ",
        "`--sessions 1,...`": f"`{levels} 1,...`",
        "`--sessions auto`": f"`{levels} 1-V`, V twice the vCPUs",
        MEASURE_AGAIN: f"measure again: `{name}`",
    }
    return _Origin(words, r"`-r \1`")


_SCRIPTS = {
    "increment": _script("increment", "increment", "`increment -s long`", "more SECONDS of `increment`"),
    "gzip-pipe": _script("gzip-pipe", "gzip-pipe", "more MB of `gzip-pipe`", "more MB of `gzip-pipe`"),
    **{
        name: _script(f"{name}-fanout", f"{name}-fanout -n", f"`{name}-fanout -s long`", f"`{name}-fanout -s long`")
        for name in ("psql", "sqlplus")
    },
}
"""By the driver of a database: scripts of the shell kit."""
_TIMES = _Origin(
    {
        f": {LONGER_EXECUTIONS}": "",
        f": {LONGER_ROUNDS}": "",
        ": `--size long`": "",
        " (`--size long`)": "",
        " (`--workload arithmetic`)": "",
        ": `--sessions 1,...`": "",
        "`--sessions auto`": "1 to twice the vCPUs",
        MEASURE_AGAIN: "measure again",
    },
    r"\1 rounds of each level",
)
"""Times that another program measured: nobody knows its options."""


_COMMANDS = {SOAK: "soak", POOL: "pool"}
"""By experiment."""
_USUAL = ("cartesian", "increment")
"""Workloads that nobody has to name: of databases, and of a shell."""


_AGAIN = {WITH_A_SINGLE_SESSION: "measure again"}
_OPTIONS: Mapping[str, Mapping[str, str]] = {
    SOAK: {
        LONGER_ROUNDS: "a longer `--for`",
        LONGER_EXECUTIONS: "a longer `--size`",
        SHORTER_ROUNDS: "a shorter `--for`",
        ENOUGH_REPEATS: "a longer `--for`",
        **_AGAIN,
    },
    POOL: {
        LONGER_ROUNDS: "more `--work`, or a longer `--size`",
        LONGER_EXECUTIONS: "a longer `--size`",
        SHORTER_ROUNDS: "shorter rounds (`--work`, `--size`)",
        **_AGAIN,
    },
    TOGETHER: _AGAIN,
}
"""By experiment: options of ``dbcpu run`` in remedies, and what its own command has in their place."""


def measuring_command(header: Header, repeats: int | None = None) -> str:
    """What measures such a run of its target: ``dbcpu soak db1 --sessions 4 --for 600s``, ``dbcpu vary db1 ...``.

    ``repeats``: so many rounds of each level; None for those of the run, of which a plain one names none.
    """
    plan, variants = header.plan, header.plan.variants
    # A target of several as a run of its own is called by its name, alone and beside the others.
    party = len(variants) == 1 and variants[0].removesuffix(f"+{TOGETHER}") == plan.target
    if party or (plan.experiment == TOGETHER and not plan.parties):
        return "dbcpu run A B --together"
    name, target = _COMMANDS.get(plan.experiment, "run"), _target(header)
    own: tuple[str, ...] = (*_size(plan), *_repeats(plan, repeats))
    if plan.experiment == TOGETHER:
        target = tuple(_parties(header))
    elif name == "soak":
        own = (f"--sessions {max(plan.levels)}", f"--for {_time(plan.for_s)}", *_sizes(plan))
    elif name == "pool":
        own = (f"--work {plan.pieces}", f"--active {short_ranges(plan.levels)}", *_of_a_pool(plan), *own)
    elif variants == AA:
        own = ("--aa", *own)
    elif variants != (BASELINE,):
        name, own = "vary", _repeats(plan, repeats, NORMAL)
        if all(map(_NAME.fullmatch, variants)):
            # Without a baseline it is a scaling test, whose levels follow from --per-cpu.
            levels = (f"--sessions {short_ranges(plan.levels)}",) if BASELINE in variants else ()
            own = (f"--variants {','.join(variants)}", *levels, *_size(plan), *own)
    else:
        own = _size(plan)
    return " ".join((f"dbcpu {name}", *target, *own))


def _target(header: Header) -> tuple[str, ...]:
    """As it can be typed; nothing where it was left out of the record, or no database was measured. No password."""
    name = header.plan.target
    if not header.driver.python or header.run_id.endswith(ANONYMOUS) or name == "embedded":
        return ()
    return (_typed(name, "TARGET"),)


def _typed(name: str, other: str) -> str:
    """The name of a target, or the ``other`` where it cannot be typed so."""
    return name if _TARGET.fullmatch(name) and "***" not in without_password(name) else other


def _parties(header: Header) -> Iterator[str]:
    """Targets that ran together, with their sessions and CPUs; A, B ... for names that the record does not have."""
    parties = header.plan.parties
    known = bool(header.driver.python) and not header.run_id.endswith(ANONYMOUS)
    for each, letter in zip(parties, cycle(ascii_uppercase)):
        yield _typed(_OWN_NUMBER.sub(r"\1", each.target), letter) if known else letter
    yield "--together"
    sessions = [str(each.sessions) for each in parties]
    if set(sessions) != {"2"}:
        yield f"--sessions {':'.join(sessions if len(set(sessions)) > 1 else sessions[:1])}"
    if all(each.cpus for each in parties):
        yield from (f"--cpus {short_ranges(each.cpus)}" for each in parties)


def _repeats(plan: Plan, asked: int | None, usual: int = QUICK) -> tuple[str, ...]:
    """Those that are ``asked`` for, or else those of the run where they are not the usual ones of the command."""
    return (f"--repeats {asked or plan.repeats}",) if asked or plan.repeats != usual else ()


def _size(plan: Plan) -> tuple[str, ...]:
    """Workload and size where they are not the usual ones, and a fixed time."""
    work = plan.workload
    workload = (f"--workload {work.name}",) if work.name not in _USUAL else ()
    fixed = (f"--for {_time(plan.for_s)}",) if plan.for_s and plan.experiment == SWEEP else ()
    return (*workload, *((f"--size {work.size}",) if work.size != "short" else ()), *fixed)


def _sizes(plan: Plan) -> tuple[str, ...]:
    if not plan.sizes:
        return _size(plan)
    workload = tuple(each for each in _size(plan) if each.startswith("--workload"))
    return (*workload, f"--sizes {','.join(each.size for each in (plan.workload, *plan.sizes))}")


def _of_a_pool(plan: Plan) -> Iterator[str]:
    if plan.blocking:
        yield f"--blocking {plan.blocking}"
        yield f"--block-for {_time(plan.block_s)}"
    if plan.connections:
        yield f"--connections {plan.connections}"
    if plan.one_at_a_time:
        yield "--one-at-a-time"


def _time(value_s: float | None) -> str:
    return f"{value_s or 0:.10g}s"


def adding_rounds(header: Header, options: str = "") -> str:
    """How rounds are added to a run, wherever this is read: another host, or another store, cannot."""
    if header.run_id.endswith(ANONYMOUS):
        return "on that host"
    return f"on its host: `{' '.join(filter(None, ('dbcpu more', header.run_id, options)))}`"


def with_own_options(text: str, header: Header) -> str:
    """A remedy or verdict of ``dbcpu run``, with the options of the command, or of the script, that measured it.

    Its run is named where the record names it.
    """
    if not header.run_id.endswith(ANONYMOUS):
        text = text.replace(AS_JSON, AS_JSON.replace("RUN", header.run_id))
    if header.driver.python or header.driver.pid:  # dbcpu measured it, or had a script do so by its own options
        for ours, theirs in _OPTIONS.get(header.plan.experiment, {}).items():
            text = text.replace(ours, theirs)
        return text.replace(MEASURE_AGAIN, f"measure again: `{measuring_command(header)}`")
    origin = _SCRIPTS.get(header.database.driver, _TIMES)
    for ours, theirs in origin.words.items():
        text = text.replace(ours, theirs)
    return _REPEATS_OPTION.sub(origin.repeats, text)
