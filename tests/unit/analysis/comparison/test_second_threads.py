"""Where SMT off cost throughput the comparison says so beside the article that found no cost, and why."""

import pytest
from msgspec.structs import replace

from dbcpu.analysis.comparison.compare import Candidate
from dbcpu.analysis.comparison.second_threads import of_variants
from dbcpu.analysis.comparison.variants import compare_variants
from dbcpu.reports.documents.comparison import document
from dbcpu.simulator import SimulatedHost, preset, simulate
from support.builders.comparison import compare

SAID = "The article that switched second threads off"
HOSTS = {
    "on": SimulatedHost("box", cores=2, noise=0.002),
    "off": SimulatedHost("box", cores=2, smt_off=True, noise=0.002),
    "loop": SimulatedHost("box", cores=2, smt_yield=0.0, noise=0.002),
    "loop-off": SimulatedHost("box", cores=2, smt_yield=0.0, smt_off=True, noise=0.002),
    "larger": SimulatedHost("larger", cores=4, threads=1, noise=0.002),
    "other": SimulatedHost("other", cores=2, smt_off=True, noise=0.002),
    "stolen": SimulatedHost("box", cores=2, smt_off=True, steal=0.3, noise=0.002),
    "clocked": SimulatedHost("box", cores=2, smt_off=True, mrows_per_s=30.0, noise=0.002),
    "newer": SimulatedHost("box", cores=2, smt_off=True, scheduler="rotating", noise=0.002),
    "interrupted": SimulatedHost("box", cores=4, irq=0.4, noise=0.002),
    "interrupted-off": SimulatedHost("box", cores=4, smt_off=True, irq=0.4, noise=0.002),
    "four": SimulatedHost("box", cores=2, threads=4, noise=0.002),
    "article": preset("c4.4xlarge"),
    "article-off": preset("c4.4xlarge-smt-off"),
}
LEVELS = (1, 2, 4)


def notes_of(*names: str, levels: tuple[int, ...] = LEVELS) -> list[str]:
    runs = [simulate(HOSTS[name], levels, repeats=6, size="short", seed=3, run_id=name) for name in names]
    shown = document(compare([Candidate(name, run) for name, run in zip(names, runs, strict=True)]))
    said = [note for note in shown.notes if note.startswith(SAID)]
    assert said == [each for each in shown.front.caveats if each.startswith(SAID)]
    return said


def test_a_loss_by_smt_off_is_said_beside_the_article_whichever_is_the_baseline() -> None:
    (one,) = notes_of("on", "off")
    assert "here off has 25 % less than on at N=2 and N=4, since second threads do 33 % more on full cores" in one
    (other,) = notes_of("off", "on")
    assert "here off has 25 % less than on at N=2 and N=4" in other


def test_the_instance_of_the_article_is_one_host_with_second_threads_and_without() -> None:
    (one,) = notes_of("article", "article-off", levels=(1, 8, 16))
    assert "here article-off has 25 % less than article at N=8 and N=16" in one


def test_where_second_threads_add_nothing_or_the_hosts_differ_nothing_is_said() -> None:
    assert notes_of("loop", "loop-off") == []
    assert notes_of("on", "larger") == []


@pytest.mark.parametrize("name", ["other", "stolen", "clocked", "newer"])
def test_what_another_host_steal_clock_or_kernel_may_have_made_is_not_said_of_second_threads(name: str) -> None:
    assert notes_of("on", name) == []
    assert notes_of(name, "on") == []


def test_of_hosts_that_are_not_full_nothing_is_said_of_full_cores() -> None:
    assert notes_of("on", "off", levels=(1, 2, 3)) == []
    assert notes_of("four", "off", levels=(1, 2, 8)) == []


def test_interrupts_are_said_with_what_second_threads_do() -> None:
    """They take more from a whole core than from a thread: 10 % of second threads were 16 %, and nothing was said."""
    in_it = "these figures include the CPU time that interrupts took"
    (said,) = notes_of("interrupted", "interrupted-off", levels=(1, 4, 8))
    assert in_it in said
    (said,) = notes_of_variants((1, 4, 5, 8), irq=0.4)
    assert in_it in said
    (said,) = notes_of_variants((1, 4, 5, 8))
    assert "interrupts" not in said


def notes_of_variants(levels: tuple[int, ...], irq: float = 0.0) -> list[str]:
    host = SimulatedHost("smt", cores=4, noise=0.002, irq=irq)
    variants = ("baseline", "smt_off", "one_per_core", "ncpus:4")
    return list(of_variants(compare_variants(simulate(host, levels, repeats=6, seed=3, variants=variants))))


def test_of_variants_it_is_said_once_of_the_one_that_switches_second_threads_off() -> None:
    (said,) = notes_of_variants((1, 4, 5, 8))
    assert "here smt_off has 25 % less than baseline at N=8, since second threads do 33 % more" in said


@pytest.mark.parametrize(("cause", "said"), [("shared_core", True), ("throttled", False)])
def test_nobody_waits_for_slow_sessions_where_others_than_shared_cores_slow_them(cause: str, said: bool) -> None:
    """Under a quota SMT off does more at some levels because sessions on shared cores use it up with less work."""
    host = SimulatedHost("smt", cores=4, noise=0.002)
    run = simulate(host, (1, 4, 5, 8), repeats=6, seed=3, variants=("baseline", "smt_off"))
    found = compare_variants(run)
    first, off = found.variants
    rows = tuple(
        replace(row, cause=cause, max_over_min=1.5, makespan=row.makespan / 2) if row.level == 5 else row
        for row in first.rows
    )
    (sentence,) = of_variants(replace(found, variants=(replace(first, rows=rows), off)))
    assert "at N=5 smt_off does more (" in sentence
    assert ("because no other work waits for slow sessions at the end" in sentence) == said


def test_seven_sessions_do_not_fill_four_cores() -> None:
    """24 % more and 1.61x were said, where it is 33 % and 1.50x."""
    assert notes_of_variants((1, 4, 5, 7)) == []
