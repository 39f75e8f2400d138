"""What was examined is told with whether it passed, and every finding on trust belongs to something examined."""

import ast
import inspect

from msgspec.structs import replace

from dbcpu.analysis.conclusions import database_findings, host_findings, measurement_findings
from dbcpu.analysis.conclusions.assurances import _ASSURANCES, _UNCHECKED, assurances
from dbcpu.analysis.explain import explain
from dbcpu.record.header import Database, Party
from dbcpu.record.rounds import RunRecord
from dbcpu.simulator import SimulatedHost, simulate
from support.builders.example import nine_on_eight
from support.builders.record import record, round_of, session, solos


def test_a_clean_run_passes_every_check_and_says_what_was_seen() -> None:
    run = record([*solos(), round_of([session(0), session(1)])])
    found = assurances(run, explain(run))
    assert not [each.name for each in found if each.findings]
    seen = {each.name: each.seen for each in found}
    assert seen["correct answers"] == "5 of 5 sessions gave the known answer"
    assert seen["server processes verified"].startswith("5 of 5 server processes verified")
    assert seen["simultaneous release"] == "released within 0.4 ms at most"


def test_a_failed_check_bears_its_findings() -> None:
    run = nine_on_eight()
    failed = {each.name: [finding.code for finding in each.findings] for each in assurances(run, explain(run))}
    assert failed["correct answers"] == ["failed-session"]
    assert failed["no steal or throttling"] == ["throttled"]
    assert failed["no other load on the host"] == ["foreign-load"]


def test_every_finding_on_trust_belongs_to_an_assurance() -> None:
    codes = {code for _, codes, _ in _ASSURANCES for code in codes}
    for module in (measurement_findings, database_findings, host_findings):
        made = {
            first.value
            for node in ast.walk(ast.parse(inspect.getsource(module)))
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("Finding", "noted")
            for first in node.args[:1]
            if isinstance(first, ast.Constant)
        }
        assert made, module
        assert made <= codes, made - codes


def test_a_run_without_rounds_can_be_asked_too() -> None:
    run = record([], status="failed")
    assert {each.name for each in assurances(run, explain(run)) if each.findings} >= {"complete run"}


def test_a_simulated_run_claims_nothing_that_only_a_measurement_can_make() -> None:
    run = simulate(SimulatedHost(cores=2, threads=1), (1, 2), repeats=3)
    found = {each.name: each for each in assurances(run, explain(run))}
    verified = found["server processes verified"]
    assert (verified.seen, verified.outcome) == ("simulated", "not checked")
    assert found["correct answers"].outcome == "not checked"
    assert found["complete run"].outcome == "yes"
    assert not [each for each in found.values() if "verified before" in each.seen or "known answer" in each.seen]


def test_every_assurance_that_can_be_left_out_is_one() -> None:
    names = {name for name, _, _ in _ASSURANCES}
    assert all(left_out < names for left_out in _UNCHECKED.values())


def on_oracle(run: RunRecord, db: dict[str, float], not_checked: dict[str, str]) -> RunRecord:
    """The run as one on Oracle, not sampled, whose sessions have these counters."""
    rounds = tuple(
        replace(
            each,
            cpu_timeline=(),
            cost=each.cost and replace(each.cost, polls=0),
            not_sampled="the database runs on another machine",
            sessions=tuple(replace(one, cpu_s=None, db=db, residency=()) for one in each.sessions),
        )
        for each in run.rounds
    )
    return RunRecord(replace(run.header, database=Database("oracle", "19.3", not_checked=not_checked)), rounds)


def outcomes(run: RunRecord) -> dict[str, str]:
    return {each.name: each.outcome for each in assurances(run, explain(run))}


def test_what_was_not_visible_is_not_called_checked() -> None:
    plain = record([*solos(), round_of([session(0), session(1)])])
    blind = outcomes(on_oracle(plain, {}, {"the shape of the plan": "grant a;"}))
    unseen = {
        "CPU-only work, one process per session",
        "one execution plan, one instance",
        "no other load on the host",
        "no steal or throttling",
        "sufficient sampling rate",
    }
    assert {name for name, outcome in blind.items() if outcome == "not checked"} == unseen
    assert blind["privileges for every check"] == "info"
    seen = outcomes(on_oracle(plain, {"physical_reads": 0.0, "plans": 1.0}, {}))
    assert seen["CPU-only work, one process per session"] == seen["one execution plan, one instance"] == "yes"
    assert seen["privileges for every check"] == "yes"
    assert "not checked" not in outcomes(plain).values()


def test_what_the_user_may_not_see_is_one_finding_with_the_grants() -> None:
    plain = record([*solos(), round_of([session(0), session(1)])])
    run = on_oracle(plain, {}, {"the plan": "grant a; grant b;", "waits": "grant b;"})
    (found,) = [each for each in explain(run).findings if each.code == "not-checked"]
    assert found.seen == "not visible to the database user: the plan; waits"
    assert found.remedy == "`grant a; grant b;`"
    (found,) = [each for each in explain(on_oracle(plain, {}, {"the plan": ""})).findings if each.code == "not-checked"]
    assert "dbcpu doctor" in found.remedy


def test_of_several_targets_each_ones_privileges_count() -> None:
    run = record([*solos(), round_of([session(0), session(1)])])
    work = run.header.plan.workload
    parties = tuple(
        Party(name, Database("oracle", "19.3", not_checked={what: f"grant {name};"}), work, 1)
        for name, what in (("a", "the plan"), ("b", "waits"))
    )
    run = replace(run, header=replace(run.header, plan=replace(run.header.plan, parties=parties)))
    (found,) = [each for each in explain(run).findings if each.code == "not-checked"]
    assert found.seen.endswith("the plan; waits")
    assert found.remedy == "`grant a; grant b;`"
