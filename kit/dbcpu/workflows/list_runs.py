"""The runs of a store as lines, and as an index page: what ``dbcpu list`` prints and writes."""

from collections.abc import Iterable, Mapping, Sequence
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dbcpu.config.targets import say_faults
from dbcpu.formatting import MAX_LABEL, UNKNOWN, aligned, shortened
from dbcpu.store import codec, database
from dbcpu.store.database import RunSummary
from dbcpu.workflows.readable_runs import none_kept, refuse_unknown
from dbcpu.workflows.terminal import asked_width

if TYPE_CHECKING:
    from dbcpu.workflows.list_verdicts import AnswerOfRun

MAX_RUNS = 20
"""That are listed where nobody asks for more."""
HEADINGS = ("run", "started (UTC)", "status", "target", "host", "workload", "levels", "rounds", "label")
FIRST_VARIANT = "first variant"
"""The one that answer and pair of a run with several are of; a list without such a run has no such column."""


def list_runs(
    store: str | None,
    target: str | None,
    host: str | None,
    limit: int | None,
    *,
    as_json: bool,
    with_verdict: bool = False,
    out: Path | None = None,
) -> None:
    """Print them, the newest first, at most ``limit`` (None: MAX_RUNS, 0: all), and what is wrong in dbcpu.toml.

    ``with_verdict``: the runs that are listed are explained, and their answers shown. ``out``: a page of them is
    written there, with the verdicts, and the other formats.

    Raises:
        UsageError: there is no run of ``target`` or ``host``.
        StoreError: the store cannot be read.
    """
    limit = MAX_RUNS if limit is None else limit
    say_faults()
    most = limit + 1 if limit else None
    with database.open_store(store, create=False) as opened:
        found = opened.list(most, target, host)
        runs = found[:limit] if limit else found
        words = None
        if with_verdict or out is not None:
            from dbcpu.workflows.list_verdicts import verdicts  # the analysis: a list without it starts faster

            words = verdicts(opened, runs)
        if not runs:
            refuse_unknown(opened, "run", target, host)
    _say(runs, words if with_verdict else None, as_json=as_json)
    if not runs and not as_json:
        click.echo(none_kept("run", target, host), err=True)
    if not runs and out is not None:
        click.echo(f"nothing is written to {out}", err=True)
    if not as_json and len(found) > len(runs):
        click.echo("older runs are not shown; --limit 0 shows all", err=True)
    if out is not None and words is not None and runs:
        _write(runs, words, out, all_shown=len(found) == len(runs))


def _say(runs: Sequence[RunSummary], words: "Mapping[str, AnswerOfRun] | None", *, as_json: bool) -> None:
    if as_json:
        beside = [_beside(words[r.run_id]) if words is not None else {} for r in runs]
        click.echo(codec.dumps([codec.encode(each) | own for each, own in zip(runs, beside, strict=True)]))
        return
    varied = words is not None and any(each.quote.variant for each in words.values())
    disturbed = words is not None and _are_disturbed(words.values())
    lines = [
        (r.run_id, r.started_at[:19].replace("T", " "), r.status, r.target, r.hostname,
         *(_columns(words[r.run_id], varied=varied, disturbed=disturbed) if words is not None else ()),
         f"{r.workload} {r.size}", r.levels, str(r.rounds), shortened(r.label, MAX_LABEL)) for r in runs
    ]  # fmt: skip
    answered = ("verdict", *([FIRST_VARIANT] if varied else []), "usable cores", "evenness")
    if disturbed:
        from dbcpu.reports.documents.quoted import LOST_TO

        answered += (LOST_TO,)
    headings = (*HEADINGS[:5], *(answered if words is not None else ()), *HEADINGS[5:])
    if lines:
        click.echo("\n".join(_within(asked_width(), headings, lines)))


def _within(width: int | None, headings: Sequence[str], lines: Sequence[Sequence[str]]) -> list[str]:
    """A line for each run; where one is longer than ``width``, columns below each other that all name the run."""
    whole = list(aligned(headings, lines))
    if width is None or max(map(len, whole)) <= width:
        return whole
    from dbcpu.reports.document import Column, Table
    from dbcpu.reports.formats.table import table_text  # a list that fits starts faster without

    columns = tuple(
        Column(name, name, kind="text" if at else "name", value=itemgetter(at)) for at, name in enumerate(headings)
    )
    return table_text(Table("", columns, lines), width).rstrip().splitlines()


def _beside(answer: "AnswerOfRun") -> dict[str, Any]:
    """``variant``: the first, of a run with several: the answer and what is quoted are of that alone."""
    known = {"even": answer.quote.even or None, "variant": answer.quote.variant or None}
    known["disturbance"] = answer.disturbance or None
    return {
        "verdict": answer.verdict or None,
        "headline": answer.headline or None,
        **codec.encode(answer.quote),
        **known,
    }


def _are_disturbed(answers: "Iterable[AnswerOfRun]") -> bool:
    from dbcpu.reports.documents.quoted import lost_meanwhile

    return any(lost_meanwhile(each.disturbance) for each in answers)


def _columns(answer: "AnswerOfRun", *, varied: bool, disturbed: bool) -> tuple[str, ...]:
    """``varied``: some run of the list has several variants; the answer and the pair are those of its first."""
    from dbcpu.reports.documents.quoted import cores_words, evenness_words, lost_meanwhile

    variant = [shortened(answer.quote.variant, MAX_LABEL) or UNKNOWN] if varied else []
    lost_to = [lost_meanwhile(answer.disturbance) or UNKNOWN] if disturbed else []
    words = answer.verdict or answer.headline or UNKNOWN
    return words, *variant, cores_words(answer.quote), evenness_words(answer.quote), *lost_to


def _write(runs: Sequence[RunSummary], words: "Mapping[str, AnswerOfRun]", out: Path, *, all_shown: bool) -> None:
    from dbcpu.reports.documents import run_list
    from dbcpu.reports.write import write_document

    rows = [
        run_list.ListedRun(
            run_id=r.run_id, started_at=r.started_at, status=r.status, target=r.target, host=r.hostname,
            database=f"{r.database_kind} {r.database_version}".strip(), workload=f"{r.workload} {r.size}".strip(),
            levels=r.levels, rounds=r.rounds, label=r.label, verdict=words[r.run_id].verdict,
            quote=words[r.run_id].quote, disturbance=words[r.run_id].disturbance, headline=words[r.run_id].headline,
        )
        for r in runs
    ]  # fmt: skip
    for path in write_document(run_list.document(rows, all_shown=all_shown), out):
        click.echo(path, err=True)
