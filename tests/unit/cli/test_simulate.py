"""Every option of ``dbcpu simulate`` changes the run as its help says, and wrong values are one sentence."""

import re
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from statistics import median, stdev

import pytest
from click.testing import CliRunner, Result
from hypothesis import given, settings
from hypothesis import strategies as st

from dbcpu.analysis.explain import explain
from dbcpu.cli import group, main
from dbcpu.errors import DbcpuError
from dbcpu.record.rounds import Round, RunRecord
from dbcpu.store import codec


def invoke(*options: str) -> Result:
    return CliRunner().invoke(group, ["simulate", "--no-save", *options])


def simulated(*options: str, repeats: int = 2) -> RunRecord:
    """The run that these options make."""
    result = invoke("--repeats", str(repeats), "--json", "-", *options)
    assert result.exit_code == 0, result.output
    return codec.from_data(codec.loads(result.stdout, "standard output"), "standard output")


def at(record: RunRecord, level: int) -> list[Round]:
    return [each for each in record.rounds if each.level == level]


def times(rounds: Sequence[Round]) -> list[float]:
    return [execution.elapsed_s for each in rounds for one in each.sessions for execution in one.executions]


def rate(record: RunRecord, level: int) -> float:
    """What all sessions of a level get done, as multiples of one execution per second."""
    return level / median(max(times([each])) for each in at(record, level))


# --- the shape of the host ----------------------------------------------------------------------


def test_cores_and_threads_make_a_plain_host_and_change_a_preset() -> None:
    plain = simulated("--cores", "3", "--threads", "2", "--sessions", "1")
    preset = simulated("2x20x2", "--cores", "3", "--threads", "4", "--sessions", "1")
    assert plain.header.plan.vcpus == 6
    assert explain(plain).cores == 3
    assert plain.header.plan.target == "plain-cores-3-threads-2"
    assert (preset.header.plan.vcpus, explain(preset).cores) == (24, 6)
    assert preset.header.label == "2x20x2 with cores 3, threads 4"


def test_without_a_shape_the_usual_preset_is_changed() -> None:
    assert simulated("--sessions", "1", "--steal", "0.1").header.plan.vcpus == 16


def test_a_changed_host_has_a_history_of_its_own() -> None:
    options = (["hidden-smt"], ["hidden-smt", "--yield", "0.1"], ["hidden-smt", "--yield", "-0.1"])
    names = [simulated(*each, "--sessions", "1").header.plan.target for each in options]
    assert len(set(names)) == 3
    again = simulated("hidden-smt", "--yield", "0.1", "--sessions", "1", "--seed", "5", "--run-effect", "0.1")
    assert again.header.plan.target == names[1]


def test_efficiency_cores_are_slower_filled_last_and_listed() -> None:
    record = simulated("--cores", "4", "--threads", "2", "--efficiency-cores", "2:0.5", "--sessions", "1,2,4")
    host = record.header.host
    assert host is not None
    assert [cpu.siblings for cpu in host.topology.cpus] == [(0, 4), (1, 5), (2,), (3,), (0, 4), (1, 5)]
    assert (host.facts["performance_cpus"], host.facts["efficiency_cpus"]) == ("0-1,4-5", "2-3")
    alone_s = median(times(at(record, 1)))
    assert max(times(at(record, 2))) < 1.05 * alone_s
    slow = [each > 1.5 * alone_s for each in times(at(record, 4))]
    assert sum(slow) == len(slow) / 2
    assert max(times(at(record, 4))) == pytest.approx(2 * alone_s, rel=0.05)


@pytest.mark.parametrize(("share", "wanted"), [("0.3", 1.3), ("0", 1.0), ("-0.1", 0.9)])
def test_yield_is_what_the_second_thread_adds(share: str, wanted: float) -> None:
    record = simulated("--cores", "2", "--threads", "2", "--yield", share, "--sessions", "1,2,4")
    assert rate(record, 4) / rate(record, 2) == pytest.approx(wanted, rel=0.03)


def test_further_threads_add_less_or_cost_less() -> None:
    for share in ("0.4", "-0.2"):
        options = ("--cores", "1", "--threads", "4", "--yield", share, "--sessions", "1-4", "--scheduler", "frozen")
        record = simulated(*options)
        rates = [rate(record, level) / rate(record, 1) for level in range(1, 5)]
        steps = [later - earlier for earlier, later in pairwise(rates)]
        assert abs(steps[0]) > abs(steps[1]) > abs(steps[2])
        assert all((step > 0) is (share == "0.4") for step in steps)


def test_hidden_siblings_are_shown_as_cores() -> None:
    shape = ("--cores", "2", "--threads", "2", "--sessions", "1,4")
    shown, hidden = simulated(*shape), simulated(*shape, "--hide-siblings")
    assert (explain(shown).cores, explain(hidden).cores) == (2, 4)
    assert rate(hidden, 4) == pytest.approx(rate(shown, 4), rel=0.05)


def test_turbo_in_proportion_and_in_steps() -> None:
    shape = ("--cores", "4", "--sessions", "1-4")
    slope, steps = simulated(*shape, "--turbo", "0.3"), simulated(*shape, "--turbo", "3.6,3.0,2.7")
    wide = simulated(*shape, "--turbo", "3.6:2,2.7")
    fall = [0.0, 0.1, 0.2, 0.3]
    for record, wanted in ((slope, [1 - each for each in fall]), (steps, [1, 3 / 3.6, 0.75, 0.75]),
                           (wide, [1, 1, 0.75, 0.75])):  # fmt: skip
        alone_s = median(times(at(record, 1)))
        speeds = [alone_s / median(times(at(record, level))) for level in range(1, 5)]
        assert speeds == pytest.approx(wanted, rel=0.02)


def test_only_bare_metal_shows_frequencies() -> None:
    guest = simulated("--cores", "2", "--turbo", "3.5,2.8", "--sessions", "1,2")
    metal = simulated("--cores", "2", "--turbo", "3.5,2.8", "--sessions", "1,2", "--bare-metal", "--size", "long")
    assert not any(row.mhz for each in guest.rounds for row in each.cpu_timeline)
    assert [round(at(metal, level)[0].cpu_timeline[0].mhz[2], -1) for level in (1, 2)] == [3500, 2800]


def test_sockets_nodes_and_interrupts_are_those_of_the_host() -> None:
    made = simulated("--cores", "2", "--threads", "1", "--sockets", "2", "--nodes", "2:0.3", "--sessions", "1,4")
    assert made.header.host is not None
    cpus = made.header.host.topology.cpus
    assert [(cpu.socket, cpu.node) for cpu in cpus] == [(0, 0), (0, 0), (1, 1), (1, 1)]
    near, far = (
        simulated("--cores", "2", "--threads", "1", "--sockets", "2", "--nodes", nodes, "--memory-node", "0",
                  "--scheduler", "frozen", "--noise", "0", "--sessions", "4")
        for nodes in ("2:0", "2:0.3")
    )  # fmt: skip
    assert max(times(at(far, 4))) == pytest.approx(max(times(at(near, 4))) / 0.7, rel=0.01)
    assert min(times(at(far, 4))) == pytest.approx(min(times(at(near, 4))), rel=0.01)
    busy = simulated("--cores", "2", "--threads", "1", "--irq", "0.4", "--noise", "0", "--sessions", "2")
    first, second = (at(busy, 2)[0].cpu_timeline[cpu] for cpu in (0, 1))
    assert sum(first.softirq_s) > 0.3 * sum(first.busy_s)
    assert sum(second.softirq_s) == 0


def test_sessions_that_wait_leave_their_cpu_to_others() -> None:
    """A third of the time asleep: three sessions on two CPUs then want exactly these."""
    plain = simulated("--cores", "2", "--threads", "1", "--noise", "0", "--sessions", "1,3")
    waits = simulated("--cores", "2", "--threads", "1", "--noise", "0", "--waits", "0.333:0.02", "--sessions", "1,3")
    alone, lone = (median(times(at(record, 1))) for record in (waits, plain))
    assert alone == pytest.approx(lone / (1 - 0.333), rel=0.05)
    (session,) = at(waits, 1)[0].sessions
    assert session.cpu_s == pytest.approx(lone, rel=0.05)
    assert (session.voluntary_switches or 0) == pytest.approx((alone - lone) / 0.02, abs=2)
    assert {stretch.state for stretch in session.residency} == {"R", "S"}
    slower, fully = (median(times(at(record, 3))) / median(times(at(record, 1))) for record in (waits, plain))
    assert fully == pytest.approx(1.5, rel=0.05)
    assert 1.05 < slower < 1.4
    assert waits.header.plan.workload.name == "mixed"


def test_more_sessions_than_cpus_that_wait_in_turn_are_no_impossible_throughput() -> None:
    """Two CPUs do the work of 2.9 sessions that sleep for 30 % of their time; the steal of CPU-only ones is no wait."""
    found = explain(simulated("--cores", "2", "--threads", "1", "--waits", "0.3", "--sessions", "1-4,6", repeats=3))
    assert found.reference is not None
    assert found.reference.busy == pytest.approx(0.7, abs=0.03)
    assert "baseline-too-slow" not in {each.code for each in found.findings}
    six = found.levels[-1]
    assert six.ideal_slowdown == pytest.approx(6 * 0.7 / 2, rel=0.05)
    assert six.slowdown_median == pytest.approx(six.ideal_slowdown, rel=0.05)
    assert six.efficiency is not None
    assert six.efficiency > 0.9
    stolen = explain(simulated("--cores", "2", "--threads", "1", "--steal", "0.3", "--sessions", "1,2"))
    assert stolen.reference is not None
    assert stolen.reference.busy == 1.0


SHAPE = """cores = 4
threads = 2
turbo = "3.5:2,3.3:4"
steal = 0.1
hide-siblings = true
bare-metal = false
"""


def test_a_shape_in_a_file_is_the_same_host_as_its_options(tmp_path: Path) -> None:
    file = tmp_path / "host.toml"
    file.write_text(SHAPE)
    options = ("--cores", "4", "--threads", "2", "--turbo", "3.5:2,3.3:4", "--steal", "0.1", "--hide-siblings")
    of_file, given = (simulated(*each, "--sessions", "1,4") for each in (("--shape", str(file)), options))
    assert of_file.header.host == given.header.host
    assert times(of_file.rounds) == times(given.rounds)
    other = simulated("--shape", str(file), "--steal", "0.3", "--sessions", "1")
    assert "steal 0.3" in other.header.label


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("cores = ", "is no TOML: "),
        ("\xff", "is no TOML: "),
        ("core = 4", "has 'core' (did you mean 'cores'?); there are: bare-metal, cores, "),
        ("cores = true", "has cores = True; give N"),
        ("cores = [1]", "has cores = [1]; give N"),
        ("bare-metal = 1", "has bare-metal = 1; give true or false"),
        ('steal = "much"', "'much' is no number from 0 to 0.9."),
        ("x = " + "[" * 5000, "is no TOML: "),
        ("#" * 100_001, "is longer than 100000 bytes"),
    ],
)
def test_what_is_wrong_in_a_shape_is_said(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "host.toml"
    file.write_bytes(text.encode("latin-1"))
    result = invoke("--shape", str(file))
    assert (result.exit_code, message in " ".join(result.output.split())) == (2, True), result.output


# --- what disturbs it ---------------------------------------------------------------------------


def test_noise_is_the_relative_deviation_of_a_session() -> None:
    record = simulated("--cores", "8", "--noise", "0.1", "--sessions", "8", repeats=20)
    elapsed = times(at(record, 8))
    assert stdev(elapsed) / median(elapsed) == pytest.approx(0.1, rel=0.25)


def test_steal_is_counted_in_seconds() -> None:
    calm, stolen = (simulated("--cores", "2", "--steal", share, "--sessions", "2") for share in ("0", "0.2"))
    seconds = [
        sum(sum(row.steal_s) for each in record.rounds for row in each.cpu_timeline) for record in (calm, stolen)
    ]
    assert seconds[0] == 0
    assert seconds[1] > 0.1 * sum(times(stolen.rounds))
    assert median(times(at(stolen, 2))) > 1.1 * median(times(at(calm, 2)))


def test_a_quota_throttles() -> None:
    record = simulated("--cores", "4", "--quota", "1.5", "--sessions", "1,3")
    assert all(each.cgroups[0].throttled_s == 0 for each in at(record, 1))
    assert all(each.cgroups[0].throttled_s > 0 for each in at(record, 3))
    assert median(times(at(record, 3))) == pytest.approx(2 * median(times(at(record, 1))), rel=0.1)
    assert {view.cause for view in explain(record).sessions if view.level == 3} == {"throttled"}


def test_a_neighbour_takes_a_cpu_that_it_is_bound_to() -> None:
    record = simulated("--cores", "2", "--neighbour", "0.7", "--sessions", "2", "--size", "long")
    (neighbour,) = {each.foreign[0].command for each in at(record, 2)}
    assert neighbour == "neighbour"
    assert {each.foreign[0].cpus for each in at(record, 2)} == {(0,)}
    assert max(times(at(record, 2))) > 1.15 * min(times(at(record, 1)))


def test_a_run_effect_changes_the_speed_of_whole_runs_and_not_their_work() -> None:
    options = ("--cores", "2", "--sessions", "1", "--seconds", "3")
    runs = [simulated(*options, "--run-effect", "0.2", "--seed", str(seed)) for seed in range(8)]
    usual = [simulated(*options, "--seed", str(seed)) for seed in range(8)]
    assert {each.header.plan.executions for each in (*runs, *usual)} == {usual[0].header.plan.executions}
    ratios = [median(times(one.rounds)) / median(times(two.rounds)) for one, two in zip(runs, usual, strict=True)]
    assert 0.08 < stdev(ratios) < 0.4
    for record in runs:  # within a run there is no such difference
        elapsed = times(record.rounds)
        assert stdev(elapsed) / median(elapsed) < 0.02
    again = simulated(*options, "--run-effect", "0.2", "--seed", "3")
    assert times(runs[3].rounds) == times(again.rounds)


def test_label_and_scheduler() -> None:
    record = simulated("c4.4xlarge", "--label", "lesson 1", "--scheduler", "frozen", "--sessions", "17")
    assert record.header.label == "lesson 1"
    assert all(one.migrations == 0 for each in record.rounds for one in each.sessions)


def test_six_repeats_unless_said_otherwise() -> None:
    result = invoke("this-vm", "--sessions", "1", "--json", "-")
    assert codec.from_data(codec.loads(result.stdout, "it"), "it").header.plan.repeats == 6
    assert re.search(r"compare\s+needs at\s+least 6", CliRunner().invoke(group, ["simulate", "--help"]).output)


# --- wrong values, and all together -------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--steal", "2"], "steal must be 0 to 0.9"),
        (["--noise", "nan"], "noise must be 0 to 0.2"),
        (["--yield", "-0.5"], "yield must be -0.3 to 1"),
        (["--rebalance", "0.001"], "rebalance must be 0.01 to 60 s"),
        (["--rebalance", "1000"], "rebalance must be 0.01 to 60 s"),
        (["--rebalance", "inf"], "rebalance must be 0.01 to 60 s"),
        (["--quota", "0"], "quota must be 0.01 to 4096"),
        (["--neighbour", "7"], "neighbour must be 0 to 1"),
        (["--toggle", "5"], "toggle must be 1 to 4"),
        (["--toggle", "1.8:0"], "toggle state must be 0.01 to 100 s"),
        (["--threads", "9"], "threads must be 1 to 8"),
        (["--cores", "4", "--threads", "1", "--yield", "0.5"], "needs cores of several threads"),
        (["graviton", "--hide-siblings"], "--hide-siblings needs cores of several threads, and this host has one each"),
        (["--nodes", "3"], "nodes must be 1 to 8, of as many cores each, and is 3"),
        (["--cores", "0"], "such a host cannot be simulated: cores must be at least 1, and is 0"),
        (["--cores", "99999999"], "CPUs in all must be 1 to 4096"),
        (["--turbo", "1.5"], "turbo must be 0 to 0.9"),
        (["--turbo", "3.5,3.6"], "none above the one before"),
        (["--turbo", "3.5:4,3.3:2"], "each for more busy cores"),
        (["--cores", "4", "--efficiency-cores", "4:0.5"], "efficiency cores must be 0 to 3"),
        (["--cores", "4", "--efficiency-cores", "2:5"], "efficiency speed must be 0.1 to 1"),
        (["--scheduler", "lottery"], "scheduler must be one of frozen"),
        (["--run-effect", "3"], "run effect 3 is not 0 to 0.5"),
        (["c5"], "there are: 2x20x2"),
    ],
)
def test_a_wrong_value_is_refused_with_its_range(options: list[str], sentence: str) -> None:
    result = invoke("--sessions", "1", *options)
    assert isinstance(result.exception, DbcpuError)
    assert result.exception.exit_code == 2
    assert sentence in str(result.exception)
    assert "; " not in str(result.exception).partition("simulated so: ")[2], "one mistake is one complaint"


@pytest.mark.parametrize(
    ("option", "text", "sentence"),
    [
        ("--cores", "many", "'many' is no whole number"),
        ("--steal", "much", "'much' is no number from 0 to 0.9"),
        ("--steal", "20%", "for 20 % give 0.2 where a share is wanted"),
        ("--turbo", "3.5,x", "neither a share such as 0.25 nor GHz"),
        ("--efficiency-cores", "8", "is not N:SPEED"),
    ],
)
def test_what_is_no_value_is_refused_with_its_form(option: str, text: str, sentence: str) -> None:
    result = invoke(option, text)
    assert result.exit_code == 2
    assert sentence in " ".join(result.output.split())


combined = st.fixed_dictionaries(
    {},
    optional={
        "--cores": st.integers(1, 4).map(str),
        "--threads": st.integers(1, 8).map(str),
        "--efficiency-cores": st.sampled_from(["0:1", "1:0.5"]),
        "--yield": st.floats(-0.3, 1).map(str),
        "--hide-siblings": st.just(""),
        "--turbo": st.sampled_from(["0.25", "3.5,3.3,3.1", "3.5:2,2.9"]),
        "--bare-metal": st.just(""),
        "--noise": st.floats(0, 0.2).map(str),
        "--steal": st.floats(0, 0.9).map(str),
        "--quota": st.floats(0.3, 9).map(str),
        "--neighbour": st.floats(0, 1).map(str),
        "--toggle": st.sampled_from(["1", "1.8", "1.3:0.5"]),
        "--run-effect": st.floats(0, 0.5).map(str),
        "--scheduler": st.sampled_from(["frozen", "sticky", "rotating", "smt_balancing"]),
        "--seed": st.integers(0, 2**31).map(str),
    },
)
some_preset = st.sampled_from([[], ["this-vm"], ["hidden-smt"], ["c4.4xlarge-smt-off"], ["steal"]])


@settings(max_examples=40)
@given(some_preset, combined)
@pytest.mark.slow
def test_all_options_combine(preset: list[str], options: dict[str, str]) -> None:
    words = [word for option, value in options.items() for word in (option, value) if word]
    result = invoke(*preset, *words, "--sessions", "1,3", "--repeats", "1", "--size", "tiny")
    why = ("efficiency cores must be 0 to 0", "needs cores of several threads")
    refused = isinstance(result.exception, DbcpuError) and any(each in str(result.exception) for each in why)
    assert result.exit_code == 0 or refused, result.exception


# --- a target whose history goes on -------------------------------------------------------------


def test_a_named_target_keeps_one_history_and_the_host_its_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = ("--store", str(tmp_path / "runs.db"))

    def night(*changes: str) -> Result:
        options = ("--target", "old-box", "--sessions", "few", "--size", "tiny", "--repeats", "3", *store)
        return CliRunner().invoke(group, ["simulate", "this-vm", *options, *changes])

    for seed in range(5):
        assert night("--seed", str(seed)).exit_code == 0
    fine = night("--out", str(tmp_path / "fine"), "--report", "markdown")
    assert "No change shown against the 5 runs before" in fine.stdout
    assert "No change shown" in (tmp_path / "fine" / "report.md").read_text("utf-8")
    assert fine.stderr == f"Report: {tmp_path / 'fine'}\n"
    check = ["check", "--last", "--target", "old-box", *store]
    assert main(check) == 0
    assert capsys.readouterr().out == ""
    night("--slow", "1.3")
    assert main(check) == 1
    worse = capsys.readouterr().out
    assert re.search(r"old-box .*: throughput at N=2 is .*, 0\.77x the usual .* of 6 runs", worse)
    assert "on this-vm;" in worse


def test_a_target_is_a_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", "this-vm", "--no-save", "--target", "postgresql://u:s3cret@db1/x"]) == 2
    shown = capsys.readouterr()
    assert "--target is not 1 to 60 letters" in shown.err
    assert "s3cret" not in shown.out + shown.err


def test_a_report_without_a_folder_is_below_reports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    short = ("this-vm", "--sessions", "1", "--size", "tiny", "--repeats", "1")
    assert invoke(*short, "--report", "none").stderr == ""
    assert list(tmp_path.iterdir()) == []
    assert invoke(*short, "--report", "csv").exit_code == 0
    (folder,) = (tmp_path / "reports").iterdir()
    assert [file.suffix for file in folder.iterdir()] == [".csv"]
