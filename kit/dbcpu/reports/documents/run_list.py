"""An index of stored runs: which there are, of what, and the verdict of each."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from operator import attrgetter
from typing import Any

from msgspec import Struct

from dbcpu.analysis.results.answer import Fact
from dbcpu.analysis.results.quote import Quote
from dbcpu.formatting import UNKNOWN, listed, plural
from dbcpu.reports.document import Column, Document, Front, Section, Table
from dbcpu.reports.documents.quoted import LOST_TO, QUOTED_TERMS, cores_words, evenness_words, lost_meanwhile
from dbcpu.reports.plain_data import plain_data

VERDICTS = {
    "equal": "all sessions get the same CPU at full speed, up to the vCPUs and beyond",
    "partly": "up to the vCPUs, not beyond",
    "unequal": "at some N up to the vCPUs some sessions are slower than others",
    "slower": "sessions (or one alone) are not at full speed, and unequal shares were not shown",
    "inconclusive": "the run does not permit an answer, usually because of noise; that is no statement of equality",
}
TERMS = (
    *VERDICTS.items(),
    *QUOTED_TERMS,
    (LOST_TO, "what took CPU from the sessions during the run: measure again at a quiet time"),
    (
        UNKNOWN,
        "not known; a pool, a soak and targets together have a question of their own, and its answer stands there",
    ),
)
NOTE = (
    "`dbcpu show RUN` shows a run, `dbcpu report RUN` writes its page, and `dbcpu list --history --out DIR` a page of "
    "how the figures went."
)


class ListedRun(Struct, frozen=True):
    """A stored run in a list. ``started_at``: UTC, ISO 8601; ``levels`` like ``1-4,8``.

    ``verdict``: a key of ``VERDICTS``, or ''. ``disturbance``: the finding of what took CPU meanwhile, or ''.
    ``headline``: the answer of an experiment with a question of its own, or ''.
    """

    run_id: str
    started_at: str
    status: str
    target: str
    host: str
    database: str
    workload: str
    levels: str
    rounds: int
    label: str
    verdict: str
    quote: Quote = Quote()
    disturbance: str = ""
    headline: str = ""


def _minute(at: str) -> str:
    return at[:16].replace("T", " ")


def _answer(row: ListedRun) -> str:
    ended = "" if row.status == "complete" else row.status
    return ", ".join(filter(None, (row.verdict or row.headline, ended))) or UNKNOWN


def _where(row: ListedRun) -> str:
    return f"{row.target} on {row.host}" if row.host and row.host != row.target else row.target


_FIRST_VARIANT = Column("variant", "first variant", kind="name", value=lambda row: row.quote.variant or UNKNOWN)
"""The one that verdict and pair of a run with several are of."""
_LOST = Column("disturbance", LOST_TO, kind="text", value=lambda row: lost_meanwhile(row.disturbance) or UNKNOWN)
"""Not in a list of runs that nothing disturbed."""
COLUMNS = (
    Column("run_id", "run", kind="name"),
    Column("verdict", "verdict", kind="name", value=_answer),
    _FIRST_VARIANT,
    Column("usable_cores", "usable cores", kind="text", value=lambda row: cores_words(row.quote)),
    Column("evenness", "evenness", kind="text", value=lambda row: evenness_words(row.quote)),
    _LOST,
    Column("started_at", "started (UTC)", _minute, kind="name"),
    Column("target", "target", kind="text", value=_where),
    Column("label", "label", kind="text"),
    Column("workload", "workload", kind="text"),
    Column("levels", "levels", kind="text"),
    Column("rounds", "rounds", kind="figure"),
)
"""What a screen has room for; ``RECORDS`` have all of it."""
_QUOTED = tuple(Column(name, name, value=attrgetter(f"quote.{name}")) for name in Quote.__struct_fields__)
RECORDS = (*(Column(name, name) for name in ListedRun.__struct_fields__ if name != "quote"), *_QUOTED)


def document(runs: Sequence[ListedRun], *, all_shown: bool) -> Document:
    """Of one run or more, the newest first; ``all_shown``: no older ones are left out."""
    title = _headline(runs)
    unneeded = [] if any(each.quote.variant for each in runs) else [_FIRST_VARIANT]
    unneeded += [] if any(lost_meanwhile(each.disturbance) for each in runs) else [_LOST]
    columns = tuple(each for each in COLUMNS if each not in unneeded)
    body = (Section("runs", "Runs", tables=(Table("Runs, the newest first", columns, runs),)),)
    counted = ", ".join(f"{many} {word}" for word, many in _verdicts(runs))
    verdict = (f"{title}.", *([f"Verdicts: {counted}."] if counted else []))
    caveats = () if all_shown else (f"Only the newest {len(runs)} are listed; `--limit 0` lists all.",)
    return Document(
        title="Stored runs",
        name="runs",
        verdict=verdict,
        sections=body,
        data=lambda: {
            "title": title,
            "verdict": verdict,
            "runs": [_data(each) for each in runs],
            "all_shown": all_shown,
        },
        records=lambda: Table(title, RECORDS, runs),
        notes=(*caveats, NOTE),
        front=Front(
            question="Which runs are stored, and what is the verdict of each?",
            heading="Stored runs",
            headline=title,
            sentences=verdict[1:],
            tiles=(
                Fact("runs", str(len(runs)), "all" if all_shown else "the newest"),
                Fact("targets", str(len({each.target for each in runs})), _names(each.target for each in runs)),
                Fact("hosts", str(len(_hosts(runs))), _names(_hosts(runs)) or "not known"),
            ),
            caveats=caveats,
        ),
        make_page=lambda: (*body, Section("reading", "How to read it", notes=(NOTE,), terms=TERMS)),
        footer=f"dbcpu, {plural(len(runs), 'run')}.",
    )


def _data(row: ListedRun) -> dict[str, Any]:
    data = plain_data(row)
    quoted: dict[str, Any] = data.pop("quote")
    return data | quoted


def _headline(runs: Sequence[ListedRun]) -> str:
    days = sorted(each.started_at[:10] for each in runs if each.started_at)
    when = f", {days[0]} to {days[-1]}" if days and days[0] != days[-1] else f", {days[0]}" if days else ""
    return f"{plural(len(runs), 'run')} of {plural(len({each.target for each in runs}), 'target')}{when}"


def _hosts(runs: Sequence[ListedRun]) -> list[str]:
    return sorted({each.host for each in runs if each.host})


def _verdicts(runs: Sequence[ListedRun]) -> Iterator[tuple[str, int]]:
    counts = Counter(each.verdict for each in runs if each.verdict)
    yield from ((word, counts[word]) for word in VERDICTS if counts[word])
    if counts and (others := len(runs) - counts.total()):
        yield "without one", others


def _names(names: Iterable[str]) -> str:
    """Three of them, those of the newest runs first, and how many more there are."""
    return listed([*dict.fromkeys(names)], most=3)
