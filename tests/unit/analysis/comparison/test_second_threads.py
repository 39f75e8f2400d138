"""Where SMT off cost throughput the comparison says so beside the article that found no cost, and why."""

from dbcpu.analysis.comparison.compare import Candidate, compare
from dbcpu.reports.documents.comparison import document
from dbcpu.simulator import SimulatedHost, simulate

SAID = "The article that switched second threads off"
HOSTS = {
    "on": SimulatedHost("box", cores=2, noise=0.002),
    "off": SimulatedHost("box-off", cores=2, smt_off=True, noise=0.002),
    "loop": SimulatedHost("box", cores=2, smt_yield=0.0, noise=0.002),
    "loop-off": SimulatedHost("box-off", cores=2, smt_yield=0.0, smt_off=True, noise=0.002),
    "larger": SimulatedHost("larger", cores=4, threads=1, noise=0.002),
}


def notes_of(*names: str) -> list[str]:
    runs = [simulate(HOSTS[name], (1, 2, 4), repeats=6, size="short", seed=3, run_id=name) for name in names]
    shown = document(compare([Candidate(name, run) for name, run in zip(names, runs, strict=True)]))
    said = [note for note in shown.notes if note.startswith(SAID)]
    assert said == [each for each in shown.front.caveats if each.startswith(SAID)]
    return said


def test_a_loss_by_smt_off_is_said_beside_the_article_whichever_is_the_baseline() -> None:
    (one,) = notes_of("on", "off")
    assert "here off has 25 % less than on at N=2 and N=4, since second threads do 33 % more on full cores" in one
    (other,) = notes_of("off", "on")
    assert "here off has 25 % less than on at N=2 and N=4" in other


def test_where_second_threads_add_nothing_or_the_hosts_differ_nothing_is_said() -> None:
    assert notes_of("loop", "loop-off") == []
    assert notes_of("on", "larger") == []
