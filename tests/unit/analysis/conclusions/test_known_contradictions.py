"""The contradictions that were found in 23 real runs and in simulated ones, case by case: none is said any more.

Each case is a record, or a simulated twin of it, and what its parts must and must not say. ``all parts`` are held
against each other by ``support/contradictions.py`` in each case; what stands here is what the case was about.
"""

import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest
from msgspec import Struct
from msgspec.structs import replace

from dbcpu.analysis.comparison.compare import Candidate
from dbcpu.analysis.comparison.variant_sentences import variant_sentences
from dbcpu.analysis.conclusions.assurances import assurances
from dbcpu.analysis.conclusions.headline import headline
from dbcpu.analysis.explain import explain
from dbcpu.analysis.history.limits import check
from dbcpu.analysis.history.run_figures import run_figures
from dbcpu.analysis.results.answer import Answer
from dbcpu.analysis.results.comparison import SPREAD
from dbcpu.analysis.results.run import Analysis
from dbcpu.config.check_limits import CheckLimits
from dbcpu.record.rounds import Round, RunRecord
from dbcpu.reports.documents.run_summary import summary
from dbcpu.reports.documents.run_tables import slowed_table
from dbcpu.simulator import SimulatedHost, preset, simulate
from dbcpu.store import record_file
from support.builders import experiments
from support.builders.comparison import compare
from support.builders.record import SOLO_S, record, round_of, session, solos
from support.contradictions import contradictions

KEPT = Path(__file__).parent / "contradictions"
EXAMPLES = Path(__file__).resolve().parents[4] / "reports" / "examples"
NOTHING = r"$^"
SAME = r"(?i)same CPU|equal CPU at full speed|no difference|at full speed up to"
SMT = r"mainline 6\.6|SMT off"


def host(levels: tuple[int, ...], repeats: int = 3, seed: int = 1, **parameters: object) -> Callable[[], RunRecord]:
    """A simulated twin."""
    made = SimulatedHost(**{"cores": 4, "threads": 1, **parameters})  # type: ignore[arg-type]
    return lambda: simulate(made, levels, repeats, seed, size="short")


def named(name: str, levels: tuple[int, ...], repeats: int = 3) -> Callable[[], RunRecord]:
    return lambda: simulate(preset(name), levels, repeats, seed=1, size="short")


def example(name: str) -> Callable[[], RunRecord]:
    return lambda: record_file.read(EXAMPLES / name / "record.json.gz")


def real(name: str) -> Callable[[], RunRecord]:
    return lambda: record_file.read(KEPT / f"{name}.json.gz")


def two_cpus(alone_s: tuple[float, ...], **levels: tuple[float, ...]) -> Callable[[], RunRecord]:
    """Rounds on two vCPUs: single sessions, then each of ``levels`` in two rounds. More than two wait in turn."""

    def made() -> RunRecord:
        rounds = [round_of([session(0, run_s)], repeat=at, order=at) for at, run_s in enumerate(alone_s)]
        for times in levels.values():
            waited = len(times) > 2
            for at in range(2):
                members = [session(i, 1.0 if waited else all_s, all_s - 1.0 if waited else 0.0, cpu=i % 2)
                           for i, all_s in enumerate(times)]  # fmt: skip
                rounds.append(round_of(members, repeat=at, order=len(rounds)))
        return record(rounds)

    return made


def interrupted() -> RunRecord:
    whole = simulate(SimulatedHost(cores=2, threads=1, noise=0.05), (1, 2, 4), 4, seed=1, size="short")
    return RunRecord(replace(whole.header, status="interrupted"), whole.rounds[:4])


class Case(Struct, frozen=True):
    """``said`` and ``unsaid``: (part, pattern) that is found there, and that is not."""

    what: str
    made: Callable[[], RunRecord]
    said: tuple[tuple[str, str], ...] = ()
    unsaid: tuple[tuple[str, str], ...] = ()


CASES = {
    "4.1": Case(
        "shared from 3 on, and even up to 4",
        example("embedded-2-vcpus"),
        said=(
            ("verdict", "Up to 2 sessions all get equal CPU.*above the 2 vCPUs sessions take turns"),
            ("capacity", "equal shares at full speed up to 2 sessions"),
        ),
        unsaid=(("verdict", "share from"), ("capacity", "full speed up to [34]")),
    ),
    "4.2": Case(
        "three sessions on two vCPUs at full speed",
        two_cpus((0.9, 1.1, 1.6, 1.0), two=(2.0, 2.3), three=(2.3, 2.4, 2.6)),
        unsaid=(("verdict", SAME), ("headline", "Yes"), ("capacity", "up to [23]"), ("remedy", SMT)),
    ),
    "4.3": Case(
        "no difference at a run queue of 4 of 6",
        real("20261122-111606-3de8c0"),
        said=(("headline", "^No: even a single session does not get a whole CPU"),),
        unsaid=(("verdict", SAME), ("verdict", r"\d{3} %"), ("capacity", "full speed"), ("remedy", SMT)),
    ),
    "4.4": Case(
        "all equal beside three losers",
        real("20261122-112256-269758"),
        said=(("headline", "^No"),),
        unsaid=(("verdict", SAME), ("capacity", "equal shares")),
    ),
    "4.5": Case(
        "the same CPU at a max/min of 2.20",
        host((1, 2, 4, 7, 8), seed=4, threads=2, noise=0.2),
        said=(("findings", "uneven-sessions"), ("verdict", "7 sessions 6 of 7 have a slowdown")),
        unsaid=(("verdict", SAME), ("capacity", "up to [78]")),
    ),
    "4.6": Case(
        "the same CPU up to 10 on 8 vCPUs",
        host((1, 4, 8, 9, 10), 1, seed=2, threads=2, noise=0.1),
        said=(("kind", "bad"),),
        unsaid=(("verdict", SAME), ("headline", "Yes"), ("capacity", "up to")),
    ),
    "4.7": Case(
        "no difference at a run queue of 28 of 33",
        host((1, 4, 8, 11), 2, seed=3, threads=2, noise=0.2),
        said=(("verdict", "Above the 8 vCPUs shares are unequal|[Aa]bove the 8 vCPUs"),),
        unsaid=(("verdict", SAME),),
    ),
    "4.8": Case(
        "two of three in a slow group, yet even",
        host((1, 2, 3, 4), seed=14, cores=2, threads=2, noise=0.1),
        unsaid=(("verdict", SAME), ("capacity", "up to 3"), ("headline", "Yes.*3")),
    ),
    "4.9": Case(
        "all three on one core of two threads",
        host((1, 2, 3), cores=2, threads=2, scheduler="frozen", noise=0.02),
        said=(("verdict", "2 of 3 have a slowdown of .*shared core"),),
        unsaid=(("verdict", "all 3"), ("facts", "of 9 sessions.*N = 2")),
    ),
    "4.10": Case(
        "sharing from the start, even up to 4",
        host((1, 2, 4, 5), repeats=5, seed=6, turbo_slope=0.3),
        said=(
            ("verdict", "From 2 sessions on, all are slower: at 2 sessions all are equally slow"),
            ("verdict", "turbo frequency"),
            ("scaling", r"all sessions have a slowdown of up to 1\.4"),
        ),
        unsaid=(("verdict", "a reason that was not seen"), ("capacity", "full speed")),
    ),
    "4.11": Case(
        "unavoidable, and a core stood free",
        host((1, 4, 5, 6, 8), threads=2, rebalance_s=1.0),
        said=(("contention", "avoidable|SMT sharing"),),
        unsaid=(("contention", "unavoidable"), ("findings text", "every placement is as good")),
    ),
    "4.12": Case(
        "slow at 3, at full speed up to 2, even again at 4",
        named("steal", (1, 2, 3, 4, 5), 1),
        said=(("verdict", "From 2 sessions on, some are slower"),),
        unsaid=(("capacity", "up to"), ("verdict", SAME)),
    ),
    "4.12 with repeats": Case(
        "they differ from 3 on, at full speed up to 4",
        named("steal", (1, 2, 3, 4, 5), 3),
        said=(("verdict", "CPU steal"),),
        unsaid=(("capacity", "up to [345]"),),
    ),
    "4.13": Case(
        "no remedy on the first screen",
        example("embedded-2-vcpus"),
        said=(("remedy", "run no more than|vCPU"),),
        unsaid=(("remedy", SMT),),
    ),
    "4.14": Case(
        "the same CPU up to 4, the cause changes with the repeats",
        named("noisy", (1, 2, 4, 6), 3),
        said=(("findings", "uneven-sessions"), ("headline", "inconclusive at N=2,4")),
    ),
    "4.15": Case(
        "yes at a steal of 40 %",
        host((1, 2, 4), 6, seed=3, steal=0.4),
        said=(
            ("headline", "^No: even a single session"),
            ("facts", "steal"),
            ("verdict", "CPU steal"),
            ("remedy", "dedicated host"),
        ),
        unsaid=(("remedy", "no more than 4"),),
    ),
    "4.16": Case(
        "half a CPU is one core, and even up to 3",
        host((1, 2, 3), seed=3, quota_cpus=0.5),
        said=(
            ("headline", "^No: even a single session"),
            ("verdict", "CPU quota"),
            ("scaling", "not verified whether.*CPU quota"),
            ("remedy", "cpu.max"),
        ),
    ),
    "4.17": Case(
        "eight equal sessions cut in two by the limit",
        host((1, 2, 8), 6, seed=3, cores=8, all_slow=0.13, noise=0.005),
        said=(("verdict", "all are equally slow"),),
        unsaid=(("verdict", r"\d\.5 of 8|some"), ("findings", "uneven")),
    ),
    "4.18": Case(
        "more than is possible",
        two_cpus((2.0, 2.1, 1.9), two=(1.0, 1.0), three=(1.3, 1.3, 1.3)),
        said=(("findings", "baseline-too-slow"),),
        unsaid=(("efficiency", r"10[1-9]|1[1-9]\d|[2-9]\d\d"), ("scaling", "effective cores")),
    ),
    "4.26 one single session": Case(
        "maximal certainty from no information",
        lambda: record([*solos(1), *_pairs(SOLO_S, 1.03 * SOLO_S)]),
        said=(("verdict", "a single session was measured only once, so the noise is not known"), ("kind", "unknown")),
        unsaid=(("baseline", "noise 0"),),
    ),
    "4.26 interrupted": Case(
        "an answer from four rounds",
        interrupted,
        said=(("verdict", "^Interrupted after 4 "),),
        unsaid=(("verdict", SAME),),
    ),
    "4.27": Case(
        "max/min at most 1.10, and even up to 1",
        lambda: record([*solos(4), *_pairs(SOLO_S, 1.098 * SOLO_S)]),
        unsaid=(("verdict", r"at most 1\.10"), ("verdict", "unequal")),
    ),
    "found later, 1": Case(
        "two vCPUs of one core, and the remedy is one against steal",
        host((1, 2, 3), 1, seed=6, cores=1, threads=2, hidden_smt=True, steal=0.2, smt_yield=0.05, noise=0.1),
        said=(("headline", "^No: even a single session"), ("verdict", "of one core"), ("remedy", "ThreadsPerCore")),
    ),
}


def _pairs(*elapsed_s: float) -> list[Round]:
    return [round_of([session(i, run_s) for i, run_s in enumerate(elapsed_s)], repeat=at, order=10 + at)
            for at in range(4)]  # fmt: skip


@cache
def result(number: str) -> tuple[RunRecord, Analysis]:
    made = CASES[number].made()
    return made, explain(made)


def parts(number: str) -> dict[str, str]:
    """What a reader sees of the result, by part."""
    made, found = result(number)
    first = headline(found)
    efficiency = " ".join(f"{100 * each.efficiency:.0f}" for each in found.levels if each.efficiency is not None)
    return {
        **dict.fromkeys(("capacity", "scaling", "contention"), ""), **dict(summary(made, found)),
        "verdict": found.verdict, "headline": first.headline, "kind": first.kind, "remedy": first.remedy,
        "facts": "; ".join(f"{each.name}: {each.value} {each.beside}" for each in first.facts),
        "findings": " ".join(each.code for each in found.findings), "efficiency": efficiency,
        "findings text": " ".join(f"{each.seen} {each.meaning}" for each in found.findings),
        "baseline": f"noise {100 * found.reference.spread:.0f}" if found.reference else "",
    }  # fmt: skip


@pytest.mark.parametrize("number", CASES)
def test_a_result_is_of_one_piece(number: str) -> None:
    case, seen = CASES[number], parts(number)
    missing = [(part, pattern, seen[part]) for part, pattern in case.said if not re.search(pattern, seen[part])]
    wrong = [(part, pattern, seen[part]) for part, pattern in case.unsaid if re.search(pattern, seen[part])]
    assert (case.what, missing, wrong) == (case.what, [], [])
    assert contradictions(*result(number)) == []


# --- cases that are not about the parts of one sweep -------------------------------------------


def test_4_19_a_pool_says_what_its_figures_leave_out() -> None:
    made = real("20261122-112449-1a03c8")()
    found = explain(made)
    assert "the shortest time measured; larger pools were not measured" in found.verdict
    assert "the host lost CPU to other processes and steal" in found.verdict
    assert "capacity" not in dict(summary(made, found))


def test_4_20_targets_that_are_slower_together_are_not_said_to_lose_nothing() -> None:
    found = explain(experiments.together([1.0, 1.0], [1.29, 1.35], rounds=2, apart=False))
    assert (
        "it is inconclusive whether the targets slow each other: seen a 1.29x and b 1.35x. 2 rounds are"
        in found.verdict
    )
    assert not re.search("nobody|no loss|no more than chance", found.verdict)
    assert headline(found).kind != "good"


def test_4_21_a_soak_has_a_verdict_of_its_own_and_no_capacity() -> None:
    made = experiments.soak(lambda segment, ordinal, chance: float(2.0 * chance.uniform(0.8, 2.5)), segments=6)
    found = explain(made)
    assert not re.search(SAME, found.verdict)
    assert "up to" not in dict(summary(made, found)).get("capacity", "")


def _undecided_alarms(number: str) -> Iterator[tuple[bool, bool]]:
    made, found = result(number)
    lost = {each.level for each in found.levels if Answer.NO in (each.even, each.full_speed)}
    for each in check(made.header, run_figures(made, found), (), CheckLimits()):
        if each.metric in ("slowdown", "max_over_min"):
            yield each.level in lost, each.inconclusive


def test_4_22_a_limit_that_noise_passed_is_called_inconclusive() -> None:
    alarms = [alarm for number in ("4.2", "4.5", "4.7", "4.8") for alarm in _undecided_alarms(number)]
    assert alarms and all(lost or inconclusive for lost, inconclusive in alarms)


def test_4_23_reasons_for_being_slow_together_hold_the_cause_that_sessions_have() -> None:
    made = named("noisy", (1, 2), 3)()
    text = next((each.meaning for each in explain(made).findings if each.code == "slow-together"), "other processes")
    assert "other processes" in text


def test_4_24_an_interval_without_1_is_a_difference_and_a_sentence_has_its_own_level() -> None:
    found = explain(example("emulated-smt-variants")())
    assert found.variants is not None
    for sentence in variant_sentences(found.variants):
        for part in sentence.split("; "):
            interval = re.search(r"95 % interval ([\d.]+) to ([\d.]+)", part)
            assert not (interval and "no difference" in part and not float(interval[1]) <= 1 <= float(interval[2])), (
                part
            )
    for each in found.levels:
        assert not (each.level == 1 and each.slowdown_median is not None and each.slowdown_median < 1.0
                    and each.main_cause != "none")  # fmt: skip


def test_4_25_hosts_are_compared_where_both_have_a_cpu_for_each_session() -> None:
    small, large = (host((1, 2, 4, 5, 6, 8), threads=2, smt_off=off)() for off in (True, False))
    found = compare([Candidate("large", large), Candidate("small", small)])
    (uneven,) = [each for each in found.sides[1].decisions if each.summary == SPREAD]
    assert max(map(int, re.findall(r"\d+", uneven.levels))) <= 4


def test_4_28_the_evidence_does_not_repeat_itself() -> None:
    for number in ("4.1", "4.10", "4.12"):
        rows = slowed_table(result(number)[1])
        evidence = next(each for each in rows.columns if each.key == "evidence")
        for row in rows.rows:
            text = evidence.format(row.evidence)
            assert not re.match(r"[\d.]+x:", text), "the slowdown has a column of its own"
            assert text.count("off-CPU") <= 1


def test_4_29_nothing_was_verified_in_a_simulated_run() -> None:
    checked = [each for each in assurances(*result("4.10")) if each.checked]
    assert not any("verified" in each.seen or "samples per second" in each.seen for each in checked)
