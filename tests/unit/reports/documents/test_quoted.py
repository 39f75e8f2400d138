"""Usable cores and evenness are quoted with intervals and answer, the same from a run and from its kept figures."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from dbcpu.analysis.explain import explain
from dbcpu.analysis.history.run_figures import run_figures
from dbcpu.analysis.placement.usable_cpus import bounding_quota
from dbcpu.analysis.results.answer import Answer
from dbcpu.analysis.results.quote import EVEN_WORDS, Quote, kept_notes, kept_quote, quote
from dbcpu.cli import main
from dbcpu.record.rounds import RunRecord
from dbcpu.reports.document import TO_QUOTE
from dbcpu.reports.documents.quoted import cores_words, evenness_words, quotable, quoted_sentence, quoted_words
from dbcpu.reports.documents.run import document
from dbcpu.reports.documents.run_summary import summary
from dbcpu.reports.formats import metrics, table
from dbcpu.simulator import SimulatedHost, simulate
from dbcpu.store.database import open_store
from dbcpu.workflows.kept_figures import keep_run
from support.builders.comparison import noisy_run
from support.builders.example import nine_on_eight, three_on_two
from support.builders.record import record, solos

KNOWN = Quote(16, 10.72, 10.1, 11.2, 0.66, 0.64, 0.69, "no", evenness_level=12)


def under_quota() -> RunRecord:
    return simulate(SimulatedHost("h", cores=4, threads=1, quota_cpus=2.5), (1, 2, 3, 4), 3, seed=1, size="short")


def waiting() -> RunRecord:
    return simulate(SimulatedHost("h", cores=4, threads=1, waits=0.5), (1, 4, 8), 3, seed=1, size="short")


def varied(*names: str, quota_cpus: float | None = None) -> RunRecord:
    """A run of these variants of a host with two threads a core."""
    return simulate(
        SimulatedHost("h", cores=4, threads=2, quota_cpus=quota_cpus), (1, 2, 3, 4, 6, 8), 3, seed=1, variants=names
    )


@pytest.mark.parametrize("run", [three_on_two, nine_on_eight, lambda: record(solos(3)), under_quota, waiting])
def test_kept_figures_quote_what_the_run_does(run: Callable[[], RunRecord]) -> None:
    given = run()
    analysis = explain(given)
    assert kept_quote(run_figures(given, analysis)) == quote(analysis.vcpus, analysis.capacity, bounding_quota(given))


@pytest.mark.parametrize(
    ("told", "cores", "evenness"),
    [
        (KNOWN, "10.7 (10.1 to 11.2) of 16", "0.66 (0.64 to 0.69) at N=12, not even"),
        (Quote(2, 2.0, evenness=0.97, even="undecided"), "2.0 of 2", "0.97, inconclusive"),
        (Quote(evenness=0.99, evenness_low=0.9, evenness_high=1.0, even="yes"), "-", "0.99 (0.90 to 1.00), even"),
        (Quote(6, 5.5, quota=5.5), "5.5 of 5.5", "-"),
        (Quote(), "-", "-"),
    ],
)
def test_in_columns(told: Quote, cores: str, evenness: str) -> None:
    assert (cores_words(told), evenness_words(told)) == (cores, evenness)


def test_in_a_sentence() -> None:
    assert quoted_sentence(KNOWN) == (
        "To quote of the newest run: 10.7 usable cores (95 % CI 10.1 to 11.2) of 16 vCPUs, "
        "evenness 0.66 (95 % CI 0.64 to 0.69, at N=12): not even."
    )
    assert (
        quoted_sentence(Quote(6, 5.5, quota=5.5))
        == "To quote of the newest run: 5.5 usable cores of a CPU quota of 5.5."
    )
    assert quoted_sentence(Quote(16)) == ""


def test_of_a_quota_is_told_what_bounds_the_sessions() -> None:
    given = under_quota()
    assert cores_words(kept_quote(run_figures(given, explain(given)))).endswith(" of 2.5")


def test_the_brief_answer_has_it() -> None:
    run = three_on_two()
    shown = document(run, explain(run)).brief()
    assert "\nto quote  " in table.render(shown)
    assert "usable cores" in table.render(shown)


@pytest.mark.parametrize("run", [under_quota, lambda: varied("cpus:0-3", "baseline")])
def test_the_top_of_the_page_quotes_the_whole_pair(run: Callable[[], RunRecord]) -> None:
    """It had usable cores only, without of how many."""
    given = run()
    analysis = explain(given)
    pair = kept_quote(run_figures(given, analysis))
    front = document(given, analysis).front
    assert front is not None
    (tile,) = (each for each in front.tiles if "usable cores" in f"{each.name} {each.beside}")
    assert tile.value == re.sub(r" \(.*\)", "", cores_words(pair))
    assert f"evenness {evenness_words(pair)}" in tile.beside
    assert (f"{pair.variant}: " in tile.beside) == bool(pair.variant)


def test_of_a_pair_whose_cores_are_not_known_the_top_has_the_evenness() -> None:
    given = nine_on_eight()
    front = document(given, explain(given)).front
    assert front is not None
    tile = front.tiles[0]
    assert (tile.name, tile.value) == ("evenness", "0.66")
    assert tile.beside.startswith("(0.54 to 0.81) at N=9, not even; usable cores not known")


@pytest.mark.parametrize("answer", EVEN_WORDS)
def test_a_line_to_quote_has_a_word_for_every_answer(answer: str) -> None:
    """That of an uneven host had none: it could be an answer that is missing."""
    assert quoted_words(replace(KNOWN, even=answer)).partition("at N=12): ")[2].startswith(EVEN_WORDS[answer])


def test_each_of_many_variants_has_a_line_of_the_same_form() -> None:
    """The first had intervals and N, the others figures without, all of them in one paragraph."""
    run = varied(*(f"cpus:0-{last}" for last in range(3, 8)))
    analysis = explain(run)
    assert analysis.variants is not None
    said = [text for name, text in summary(run, analysis) if name == TO_QUOTE]
    assert len(said) == 5
    for each, line in zip(analysis.variants.variants, said, strict=True):
        assert each.quote.variant == each.name
        form = rf"{each.name}: [\d.]+ usable cores \(95 % CI [\d.]+ to [\d.]+\) of \d vCPUs, evenness 0\.\d\d "
        assert re.match(rf"{form}\(95 % CI 0\.\d\d to [\d.]+, at N={each.quote.evenness_level}\)", line)
    brief = table.render(document(run, analysis).brief()).splitlines()
    assert sum(line.startswith("to quote  cpus:0-") for line in brief) == 5


def test_a_list_says_which_variant_its_answer_and_pair_are_of(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = str(tmp_path / "runs.db")
    with open_store(place) as opened:
        keep_run(opened, noisy_run(1, run_id="alone", started_at="2026-11-01T12:00:00+00:00"))

    def listed(*options: str) -> str:
        assert main(["list", "--verdict", "--store", place, *options]) == 0
        return capsys.readouterr().out

    assert "first variant" not in listed()
    with open_store(place) as opened:
        keep_run(opened, varied("cpus:0-3", "cpus:0-4"))
    headings, *rows = (re.split(" {2,}", line) for line in listed().splitlines())
    shown = headings.index("first variant")
    assert {row[0]: row[shown] for row in rows} == {"alone": "-", "simulated-h-1": "cpus:0-3"}
    named = {each["run_id"]: each["variant"] for each in json.loads(listed("--json"))}
    assert named == {"alone": None, "simulated-h-1": "cpus:0-3"}
    assert main(["list", "--out", str(tmp_path / "out"), "--store", place]) == 0
    assert "<th>first variant</th>" in re.sub(r"<th[^>]*>", "<th>", (tmp_path / "out" / "runs.html").read_text())
    assert main(["list", "--history", "--store", place]) == 0
    assert "newest run, its first variant cpus:0-3: " in " ".join(capsys.readouterr().out.split())


def test_under_a_quota_each_variant_is_quoted_of_it() -> None:
    run = varied("cpus:0-3", "cpus:0-4", quota_cpus=2.5)
    analysis = explain(run)
    said = [text for name, text in summary(run, analysis) if name == TO_QUOTE]
    assert ["of a CPU quota of 2.5" in line for line in said] == [True, True]


def test_where_one_session_alone_lost_the_line_names_what_they_were_divided_by() -> None:
    run = simulate(SimulatedHost("h", cores=4, threads=1, steal=0.5), (1, 2, 4), 4, seed=1, size="short")
    analysis = explain(run)
    alone, room = analysis.levels[0], analysis.capacity
    assert room is not None and room.usable_cores is not None and alone.counted_slowdown is not None
    rates = max(each.throughput or 0.0 for each in analysis.levels) / (alone.throughput or 1.0)
    assert room.usable_cores * alone.counted_slowdown == pytest.approx(rates, rel=0.02)
    assert f"a whole CPU: a whole one would do {alone.counted_slowdown:.2f} times as much" in quotable(run, analysis)
    assert "times as much" not in quotable(under_quota(), explain(under_quota()))


def test_lists_histories_and_comparisons_have_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = str(tmp_path / "runs.db")
    with open_store(place) as opened:
        for at in (1, 2):
            run = noisy_run(at, run_id=f"run-{at}", started_at=f"2026-11-0{at}T12:00:00+00:00", uneven=1.5)
            keep_run(opened, run)
    analysis = explain(run)
    own = quote(analysis.vcpus, analysis.capacity)
    assert own.usable_cores is not None and own.evenness is not None
    assert own.evenness_level is not None
    for command in (["list", "--verdict"], ["compare", "run-1", "run-2"]):
        assert main([*command, "--store", place]) == 0
        told = " ".join(capsys.readouterr().out.split())
        assert cores_words(own) in told
        assert evenness_words(own) in told
        assert f" at N={own.evenness_level}" in evenness_words(own)
    for command in (["list", "--history"], ["show", "last", "--history"]):
        assert main([*command, "--store", place]) == 0
        assert quoted_sentence(own) in " ".join(capsys.readouterr().out.split())
    assert main(["list", "--verdict", "--json", "--store", place]) == 0
    newest = json.loads(capsys.readouterr().out)[0]
    assert (newest["usable_cores"], newest["evenness"], newest["even"]) == (own.usable_cores, own.evenness, own.even)
    assert main(["list", "--out", str(tmp_path / "out"), "--store", place]) == 0
    assert cores_words(own) in (tmp_path / "out" / "runs.html").read_text()
    header, first = (tmp_path / "out" / "runs.csv").read_text().splitlines()[:2]
    assert dict(zip(header.split(","), first.split(","), strict=True))["evenness"] == f"{own.evenness:.6g}"


def test_what_took_the_hosts_cpu_meanwhile_is_said_of_kept_figures_too() -> None:
    run = simulate(SimulatedHost(cores=8, threads=1, steal=0.2), (1, 4, 8), 3, seed=1, size="short")
    analysis, figures = explain(run), run_figures(run, explain(run))
    meanwhile = "; measured while the host lost CPU to steal"
    assert quotable(run, analysis).endswith(meanwhile)
    assert quoted_sentence(kept_quote(figures), kept_notes(figures)).endswith(f"{meanwhile}.")


def test_nothing_was_taken_off_where_the_counted_slowdown_is_none() -> None:
    """Far memory slows the session alone, but the kernel counts no loss of it."""
    host = SimulatedHost("h", sockets=2, cores=4, threads=1, nodes=2, remote_slowdown=0.4, memory_node=0)
    run = simulate(host, tuple(range(1, 9)), 6, seed=12, size="short")
    analysis = explain(run)
    assert analysis.levels[0].full_speed is not Answer.YES
    assert "times as much" not in quotable(run, analysis)


def test_what_work_that_waits_left_idle_is_said_wherever_usable_cores_are() -> None:
    """A comparison called 3.6 what the run's own page calls at least 3.6."""
    run = waiting()
    analysis = explain(run)
    assert quotable(run, analysis).startswith("at least ")
    kept = kept_quote(run_figures(run, analysis))
    assert cores_words(kept).startswith("at least ")
    assert "newest run: at least " in quoted_sentence(kept)
    assert not cores_words(KNOWN).startswith("at least")


def test_levels_that_may_do_more_are_named_and_cores_are_at_least_so_many_wherever_quoted() -> None:
    run = simulate(SimulatedHost(cores=16, threads=1, turbo_slope=0.9), (1, 16, 17), 3, seed=7, size="short")
    analysis = explain(run)
    said = quotable(run, analysis)
    assert said.startswith("at least 1.") and "more may be done at N=2-15" in said
    assert cores_words(kept_quote(run_figures(run, analysis))).startswith("at least ")
    front = document(run, analysis).front
    assert front is not None
    assert front.tiles[0].value.startswith("at least 1.")
    exposed = metrics.exposition(run, analysis)
    assert re.search(r"^dbcpu_usable_cores_at_least\{.*\} 1(\.0)?$", exposed, re.MULTILINE)


def test_steal_of_busy_cpus_is_said_beside_usable_cores_though_idle_ones_lose_none() -> None:
    """A tenth of one session's CPU is an eightieth of the host: it was said of no such run."""
    run = simulate(SimulatedHost(cores=8, threads=1, steal=0.1), (1, 2, 4, 8), 3, seed=27, size="medium")
    assert quotable(run, explain(run)).endswith("; measured while the host lost CPU to steal")
