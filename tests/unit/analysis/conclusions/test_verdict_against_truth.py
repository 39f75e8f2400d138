"""The verdict against what the simulator knows, and against its own table; and how long its sentences are."""

import numpy as np
import pytest
from msgspec.structs import replace

from dbcpu.analysis.conclusions.headline import headline
from dbcpu.analysis.explain import explain
from dbcpu.analysis.results.answer import Answer
from dbcpu.analysis.results.run import Analysis
from dbcpu.formatting import MAX_WORDS, is_short, joined, sentences
from dbcpu.record.plan import auto_levels
from dbcpu.record.rounds import RunRecord
from dbcpu.reports.documents.quoted import quotable
from dbcpu.reports.documents.run_summary import cause_counts
from dbcpu.simulator import SimulatedHost, presets, simulate
from support.builders.record import host as measured_on
from support.builders.record import record, round_of, session, solos
from support.builders.spoilt import SPOILT, spoilt
from support.contradictions import contradictions


def of(host: SimulatedHost, levels: tuple[int, ...], repeats: int = 6, seed: int = 1, size: str = "medium") -> Analysis:
    return explain(simulate(host, levels, repeats, seed, size=size))


def test_under_a_quota_rounds_that_are_equal_speak_for_equal_shares() -> None:
    """All rounds are slow there, and in two of five two sessions share a core: 37 of 100 runs were called unequal."""
    host = SimulatedHost(cores=8, threads=2, hidden_smt=True, quota_cpus=3.1)
    answers = [of(host, (1, 4), seed=seed).levels[1] for seed in range(1, 21)]
    assert Answer.NO not in {each.even for each in answers}
    assert {each.full_speed for each in answers} == {Answer.NO}


def test_that_a_session_waited_once_more_by_itself_is_no_unequal_share() -> None:
    """Of 100 such runs 20 were called unequal."""
    host = SimulatedHost(cores=8, threads=1, waits=0.2, wait_s=0.1)
    assert sum(of(host, (1, 6), seed=seed).levels[1].even is Answer.NO for seed in range(1, 21)) <= 1


@pytest.mark.parametrize(("rounds", "even"), [(3, Answer.UNDECIDED), (5, Answer.YES)])
def test_equal_but_slow_takes_five_rounds_too(rounds: int, even: Answer) -> None:
    slow = [round_of([session(0, 3.6), session(1, 3.6)], repeat=at) for at in range(rounds)]
    found = explain(record([*solos(), *slow], measured_on(4), vcpus=4))
    assert (found.levels[1].even, found.levels[1].full_speed) == (even, Answer.NO)
    assert ("equally slow" in found.verdict) == (even is Answer.YES)
    assert ("inconclusive whether shares are equal at N=2; more rounds" in found.verdict) == (even is Answer.UNDECIDED)


@pytest.mark.parametrize("hypervisor", [None, "kvm"])
def test_turbo_is_not_named_alone_where_it_was_measured_or_siblings_may_be_hidden(hypervisor: str | None) -> None:
    host = SimulatedHost(cores=1, threads=4, smt_yield=0.8, hidden_smt=True, hypervisor=hypervisor)
    found = of(host, (1, 2, 3, 4, 5, 6))
    said, helps = found.verdict, headline(found).remedy
    assert "slower CPU: the " in said
    if hypervisor is None:
        assert "turbo" not in said + helps
    else:
        assert "a turbo frequency that falls or cores shared unseen" in said
        assert "It is also normal that vCPUs are threads of one core" in helps


def test_turbo_is_named_where_interrupts_on_one_cpu_leave_open_whether_shares_are_equal() -> None:
    """What both of two sessions lost is far more than what they differ by."""
    found = of(SimulatedHost(cores=4, threads=1, irq=0.2, turbo_slope=0.5), (1, 2, 3, 4, 5, 8))
    assert found.levels[1].even is Answer.UNDECIDED
    assert "at 2 sessions the median slowdown is 1.20x (slower CPU: the more sessions, the slower each" in found.verdict


def test_where_siblings_are_shown_turbo_is_named() -> None:
    found = of(SimulatedHost(cores=8, threads=2, turbo_slope=0.3), (1, 2, 4, 6, 8, 12, 16))
    assert "as with a turbo frequency that falls)" in found.verdict
    assert "unseen" not in found.verdict


def test_the_table_begins_with_the_cause_that_the_verdict_begins_with() -> None:
    found = explain(simulate(SimulatedHost(cores=4, threads=2, steal=0.1), tuple(range(1, 9)), 6, 3, executions=3))
    both = [each for each in found.levels if {"steal", "shared_core"} <= set(dict(each.causes))]
    assert both
    for each in both:
        known = [cause for cause, _ in each.causes if cause != "none"]
        assert known[0] == each.main_cause == "shared_core"
        assert cause_counts(each).startswith("shared core (")
        assert "CPU steal (" in cause_counts(each)


def test_unequal_levels_above_the_vcpus_are_named_though_smaller_ones_lose_more() -> None:
    found = of(SimulatedHost(cores=8, threads=2, steal=0.3), (1, 12, 20), size="short")
    within, beyond = found.levels[1:]
    assert within.even is beyond.even is Answer.NO
    assert (beyond.max_over_min or 1.0) <= 1.1 * (within.max_over_min or 1.0)
    assert "bove the 16 vCPUs shares are unequal: at 20 sessions " in found.verdict


def test_knees_end_with_the_cpus() -> None:
    for seed in range(1, 9):
        found = of(SimulatedHost(cores=4, threads=1), (1, 2, 3, 4, 5, 6, 8), seed=seed, size="short").scaling
        assert all(knee <= 4.0 for knee in found.knees)
        assert all(
            each.low <= knee <= each.high <= 4.0 for knee, each in zip(found.knees, found.knee_intervals, strict=True)
        )


def test_usable_cores_below_one_are_explained() -> None:
    run = simulate(SimulatedHost(cores=1, threads=1, noisy_neighbour=0.7), (1, 2), 6, 1, size="medium")
    room = explain(run).capacity
    assert room is not None and room.usable_cores is not None and room.usable_cores < 1
    assert "one session alone does not get a whole CPU" in quotable(run, explain(run))


def test_what_other_processes_did_to_single_sessions_is_one_finding() -> None:
    quiet = [round_of([session(0, 1.8)], repeat=at, order=at) for at in range(4)]
    busy = [round_of([session(0, 2.7)], repeat=at, order=at, busy_s={0: 2.7, 1: 2.7}) for at in range(4, 12)]
    codes = {each.code: each.seen for each in explain(record([*quiet, *busy], measured_on(2), vcpus=2)).findings}
    assert "solo-drift" not in codes
    assert "he single-session time was " in codes["foreign-load"]


@pytest.mark.parametrize(
    ("host", "meaning", "remedy"),
    [
        (SimulatedHost(cores=4, threads=2, hidden_smt=True, noisy_neighbour=0.8), "other processes ran", "idle host"),
        (SimulatedHost(cores=4, threads=2, hidden_smt=True, toggle=1.8, pace_hz=0.0), "clock frequency", "cpupower"),
    ],
)
def test_an_unsteady_cpu_is_put_down_to_what_ran_beside(host: SimulatedHost, meaning: str, remedy: str) -> None:
    runs = (explain(simulate(host, (1, 2, 4), 6, seed, size="medium")) for seed in range(1, 12))
    found = [each for run in runs for each in run.findings if each.code == "unsteady-cpu"]
    assert found
    assert all(meaning in each.meaning and remedy in each.remedy for each in found)


def helped_twice(found: Analysis) -> bool:
    """Whether what helps names one cause several times."""
    names = [part.partition(":")[0] for part in headline(found).remedy.split(". Against ")[1:]]
    return len(names) > len(set(names))


def random_host(seed: int) -> SimulatedHost:
    """With much that a sentence may have to name at once."""
    rng = np.random.default_rng([seed, 11])

    def sometimes(share: float, low: float, high: float) -> float:
        return float(rng.uniform(low, high)) if rng.random() < share else 0.0

    cores, threads = int(rng.integers(2, 7)), int(rng.choice([1, 2, 4]))
    return SimulatedHost(
        cores=cores,
        threads=threads,
        sockets=int(rng.choice([1, 2])),
        scheduler=str(rng.choice(["frozen", "sticky", "rotating", "smt_balancing"])),
        hidden_smt=bool(rng.random() < 0.2),
        efficiency_cores=int(rng.random() < 0.1),
        steal=sometimes(0.3, 0.05, 0.4),
        irq=sometimes(0.2, 0.2, 0.6),
        quota_cpus=sometimes(0.2, 1.0, cores * threads) or None,
        turbo_slope=sometimes(0.3, 0.1, 0.4),
        noisy_neighbour=sometimes(0.2, 0.3, 0.9),
        waits=sometimes(0.1, 0.1, 0.5),
        toggle=1.8 if rng.random() < 0.1 else 1.0,
        hypervisor=(None, "kvm", "vmware")[int(rng.integers(3))],
        noise=float(rng.uniform(0, 0.03)),
    )


def levels_of(seed: int) -> tuple[int, ...]:
    vcpus = len(random_host(seed).online)
    return tuple(sorted({1, 2, 3, vcpus // 2 or 1, vcpus // 2 + 1, vcpus, vcpus + 1, min(2 * vcpus, 30)}))


def too_long(found: Analysis) -> list[str]:
    """Sentences of a verdict, of what helps and of findings, as a reader sees them."""
    texts = [found.verdict, headline(found).remedy]
    texts += [text for each in found.findings for text in (joined(each.seen, each.meaning), each.remedy)]
    return [one for text in texts for one in text.split(". ") if not is_short(one)]


@pytest.mark.parametrize("name", presets())
def test_presets_have_short_sentences(name: str) -> None:
    host = presets()[name]
    levels = auto_levels(len(host.online), host.all_cores)
    assert too_long(of(host, tuple(levels[:: max(1, len(levels) // 6)]), repeats=3, size="short")) == []


def with_lost_levels(run: RunRecord, seed: int) -> RunRecord:
    """One or two levels, or a single session, without a whole round, in any of the ways there are."""
    rng = np.random.default_rng([seed, 12])
    how = [*SPOILT, "round"][int(rng.integers(len(SPOILT) + 1))]
    levels = sorted({each.level for each in run.rounds})
    return spoilt(run, how, *map(int, rng.choice(levels, int(rng.integers(1, 3)), replace=False)))


@pytest.mark.parametrize("seed", range(30))
def test_random_hosts_have_short_sentences_and_no_contradictions(seed: int) -> None:
    whole = simulate(random_host(seed), levels_of(seed), 2 + seed % 5, seed, size="short")
    for run in (whole, with_lost_levels(whole, seed)):
        found = explain(run)
        assert too_long(found) == []
        assert contradictions(run, found) == []
        assert not helped_twice(found)


def test_a_lost_level_that_is_passed_over_is_a_contradiction() -> None:
    """What the rules look for, in a result that was made as if all rounds were whole."""
    run = simulate(SimulatedHost(cores=4, threads=1), (1, 2, 3, 4, 5, 8), 6, seed=1, size="short")
    whole, lost = explain(run), spoilt(run, "error", 3)
    found = explain(lost)
    assert contradictions(run, whole) == contradictions(lost, found) == []
    for changed in (
        replace(found, levels_lost=()),
        replace(found, verdict=whole.verdict),
        replace(found, levels=whole.levels),
        replace(found, capacity=whole.capacity),
    ):
        assert any("whole" in each for each in contradictions(lost, changed))


def test_clauses_become_sentences_where_they_are_too_long_together() -> None:
    many = " ".join(["word"] * (MAX_WORDS - 3))
    assert joined("one", "", "two", ": three") == "one; two: three"
    assert sentences("one two three", many) == f"One two three; {many}."
    assert sentences("one two three four", many) == f"One two three four. {many.capitalize()}."
    assert sentences("one two three four", f": {many}") == f"One two three four. {many.capitalize()}."
    assert sentences("") == ""
    assert is_short(f"`{many}` {many}")


def test_a_long_clause_leaves_out_what_its_cause_is() -> None:
    host = replace(random_host(3), cores=4, threads=4, turbo_slope=0.3, hypervisor="vmware", hidden_smt=False)
    assert too_long(of(host, (1, 4, 5, 16, 17), size="short")) == []
