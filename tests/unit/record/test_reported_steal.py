"""A steal of 0 is a fact only where the hypervisor reports it, and nothing else is made of it anywhere."""

import pytest
from msgspec.structs import replace

from dbcpu.analysis.conclusions.assurances import assurances
from dbcpu.analysis.experiments.soak import Course
from dbcpu.analysis.explain import explain
from dbcpu.analysis.history.run_figures import run_figures
from dbcpu.analysis.results.run import Analysis
from dbcpu.measure import preflight
from dbcpu.record.header import IMPORTED, HostInfo
from dbcpu.record.plan import auto_levels
from dbcpu.record.reported_steal import may_hide_steal, steal_unseen, why_unseen
from dbcpu.record.rounds import RunRecord
from dbcpu.reports.documents.environment import environment
from dbcpu.simulator import SimulatedHost, simulate
from support.builders.record import SOLO_S, host, record, round_of, session, solos


def guest(hypervisor: str | None, **facts: str) -> HostInfo:
    return replace(host(4), hypervisor=hypervisor, facts=facts)


def slowed(shown: HostInfo, *, steal_s: float = 0.0) -> RunRecord:
    """Two sessions on CPUs of their own, each with twice the CPU time of one alone: a slower CPU, or steal."""
    cpus = dict.fromkeys(range(4), SOLO_S)
    alone = [round_of([session(0)], busy_s=cpus, steal_s={}) for _ in range(3)]
    both = [round_of([session(0, 2 * SOLO_S), session(1, 2 * SOLO_S)], busy_s=cpus, steal_s={3: steal_s})] * 3
    return record([*alone, *both], shown, vcpus=4)


def codes(found: Analysis) -> set[str]:
    return {each.code for each in found.findings}


@pytest.mark.parametrize("name", ["vmware", "hyper-v", "virtualbox"])
def test_some_hypervisors_report_no_steal(name: str) -> None:
    assert why_unseen(guest(name), counted=False) == f"steal is not reported on this hypervisor ({name})"
    assert not why_unseen(guest(name), counted=True)


@pytest.mark.parametrize("name", ["unnamed", "qemu"])
def test_of_a_hypervisor_without_a_known_name_it_is_not_known(name: str) -> None:
    assert "is not known" in why_unseen(guest(name), counted=False)


@pytest.mark.parametrize(
    "shown",
    [
        None, guest(None), guest("kvm"), guest("kvm (Amazon EC2)"), guest("xen"), guest("powervm"),
        guest("qemu", clocksource="kvm-clock"),
    ],
)  # fmt: skip
def test_where_it_is_reported_or_cannot_be_a_steal_of_0_is_a_fact(shown: HostInfo | None) -> None:
    assert not why_unseen(shown, counted=False)


def test_lxcfs_shows_none_whatever_the_hypervisor_reports() -> None:
    assert why_unseen(guest("kvm", lxcfs="made"), counted=False) == "lxcfs shows no steal to this container"


@pytest.mark.parametrize("name", ["vmware", "hyper-v"])
def test_more_cpu_time_on_a_silent_hypervisor_has_no_cause_with_full_confidence(name: str) -> None:
    run, known = slowed(guest(name)), slowed(guest("kvm"))
    found, sure = explain(run), explain(known)
    assert ", with lower confidence)" in found.verdict
    assert f"teal is not reported on this hypervisor ({name})" in found.verdict
    assert "confidence" not in sure.verdict
    slow = [each for each in found.sessions if each.level == 2]
    assert {each.cause for each in slow} == {"slower_cpu"}
    assert all("it may be part of this" in each.evidence for each in slow)
    assert all("it may be" not in each.evidence for each in sure.sessions)
    assert "steal-unseen" in codes(found) - codes(sure)


def test_the_check_for_steal_is_not_passed_where_it_is_not_reported() -> None:
    run, known = slowed(guest("vmware")), slowed(guest("kvm"))
    outcome = {
        each.name: each.outcome for each in assurances(run, explain(run)) if each.name == "no steal or throttling"
    }
    sure = {each.name: each.outcome for each in assurances(known, explain(known)) if each.name in outcome}
    assert outcome == {"no steal or throttling": "info"}
    assert sure == {"no steal or throttling": "yes"}


def test_figures_and_documents_say_unknown_and_not_zero() -> None:
    run, known = slowed(guest("hyper-v")), slowed(guest("kvm"))
    figures, sure = run_figures(run, explain(run)), run_figures(known, explain(known))
    assert (figures.value("steal_share"), sure.value("steal_share")) == (None, 0.0)
    assert (figures.value("level_steal_share", 2, "baseline"), sure.value("level_steal_share", 2, "baseline")) == (
        None,
        0.0,
    )
    said = {name: value for facts in environment(run) for name, value in facts.pairs}
    assert said["steal"] == "steal is not reported on this hypervisor (hyper-v)"
    assert "steal" not in {name for facts in environment(known) for name, _ in facts.pairs}


def test_where_some_was_counted_it_is_reported_after_all() -> None:
    run = slowed(guest("vmware"), steal_s=0.5)
    assert not steal_unseen(run)
    found = explain(run)
    assert "steal-unseen" not in codes(found)
    assert "steal" in codes(found)
    assert "lower confidence" not in found.verdict


@pytest.mark.parametrize(("hypervisor", "unmeasured"), [("kvm", False), ("vmware", True)])
def test_a_curve_like_fewer_cores_is_probable_where_steal_may_have_bent_it(hypervisor: str, unmeasured: bool) -> None:
    shown = SimulatedHost(cores=4, hidden_smt=True, smt_yield=0.3, hypervisor=hypervisor)
    check = explain(simulate(shown, auto_levels(8), 3, 1, size="short", seconds=1.5, hz=5)).topology
    assert check is not None
    assert check.verdict == "fewer_cores"
    assert ("steal" in check.unmeasured) is unmeasured


@pytest.mark.parametrize(("hypervisor", "steal"), [("kvm", 0.0), ("vmware", None)])
def test_a_segment_of_a_soak_has_no_steal_of_0_where_none_is_reported(hypervisor: str, steal: float | None) -> None:
    run = slowed(guest(hypervisor))
    course = Course(run.header)
    for each in run.rounds:
        course.add(each, [""] * len(each.sessions))
    assert {each.steal for each in course.result().segments} == {steal}


def test_without_a_host_nobody_says_whether_steal_is_reported() -> None:
    header = replace(record(solos()).header, host=None)
    assert may_hide_steal(header) == "whether the host reports steal is not known"
    on_rds = replace(header.database, parameters={"managed_service": "Amazon RDS"})
    assert not may_hide_steal(replace(header, database=on_rds))
    assert not may_hide_steal(replace(header, host=guest("kvm")))
    assert may_hide_steal(replace(header, host=guest("vmware")))


def test_an_imported_file_does_not_say_whether_its_host_reports_steal() -> None:
    run = slowed(guest(None))
    imported = replace(run, header=replace(run.header, plan=replace(run.header.plan, sampler=IMPORTED)))
    assert not steal_unseen(run)
    assert "the imported file does not name its hypervisor" in steal_unseen(imported)
    assert run_figures(imported, explain(imported)).value("steal_share") is None
    counted = slowed(guest(None), steal_s=0.5)
    assert not steal_unseen(replace(counted, header=imported.header))


def test_doctor_says_it_before_a_run() -> None:
    assert [each.code for each in preflight._steal(guest("hyper-v"))] == ["steal-unseen"]
    assert not list(preflight._steal(guest("kvm")))
