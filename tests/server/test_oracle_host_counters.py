"""Through SQL*Net alone: what V$OSSTAT shows of the host around each round, and what is made of it."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator

import pytest

from dbcpu.analysis.explain import explain
from dbcpu.analysis.host_usage.host_counters import covers_all
from dbcpu.analysis.results.run import Analysis
from dbcpu.record.rounds import HostCounters, RunRecord
from plugins.call import Call
from support.doubles.oracle.double import OracleDouble
from support.doubles.oracle.faults import Faults
from support.doubles.oracle.profiles import Instance

pytestmark = pytest.mark.slow

Measured = Callable[..., tuple[RunRecord, Analysis]]
CALM = ("--workload", "calm")
"""Where what the sessions themselves do is not looked for."""


@pytest.fixture
def measured(call: Call) -> Measured:
    def run(double: OracleDouble, *options: str) -> tuple[RunRecord, Analysis]:
        given = ("--sessions", "1", "--size", "short", "--executions", "2", "--repeats", "1", "--yes", *options)
        code, _, err = call("run", double.url, *given)
        assert code in (0, 1), err
        record = call.last()
        assert ("host's CPU counters: by V$OSSTAT" in err) == any(each.host_counters for each in record.rounds), err
        return record, explain(record)

    return run


@pytest.fixture
def busy_machine() -> Iterator[None]:
    """Half of its CPUs compute for others."""
    many = max(1, (os.cpu_count() or 1) // 2)
    burners = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(many)]
    yield
    for burner in burners:
        burner.kill()
        burner.wait()


def counters(record: RunRecord) -> list[HostCounters]:
    return [each.host_counters for each in record.rounds if each.host_counters]


def not_sampled(found: Analysis) -> str:
    return next(each.seen for each in found.findings if each.code == "not-sampled")


@pytest.mark.parametrize("comma", [False, True])
def test_each_round_has_the_hosts_counters(measured: Measured, comma: bool) -> None:
    faults = Faults(refused_settings=("nls_numeric_characters",) if comma else ())
    with OracleDouble(faults=faults, instance=Instance(decimal_comma=comma)) as double:
        record, found = measured(double, "--host", "none")
    assert len(counters(record)) == len(record.rounds)
    for each in counters(record):
        assert each.cpus == os.cpu_count()
        assert covers_all(each)
        assert each.load is not None
        assert each.queue_s is None, "not counted on Linux"
        assert 0 < (each.user_s or 0) + (each.system_s or 0) + (each.nice_s or 0) <= (each.busy_s or 0) + 0.1
    assert not_sampled(found).endswith("host's CPU counters: by V$OSSTAT")


def test_load_of_others_is_seen(measured: Measured, busy_machine: None) -> None:
    with OracleDouble() as double:
        _, found = measured(double, "--host", "none", *CALM)
    (load,) = [each.seen for each in found.findings if each.code == "foreign-load"]
    assert "by V$OSSTAT they were busy for longer than the sessions used them" in load


def test_where_processes_are_sampled_the_view_is_not_asked(measured: Measured) -> None:
    with OracleDouble() as double:
        record, _ = measured(double, *CALM)
    assert counters(record) == []


@pytest.mark.parametrize(
    "faults", [Faults(ungranted=("v$osstat",)), Faults(missing_statistics=("IDLE_TIME",))], ids=["refused", "no row"]
)
def test_without_the_view_or_its_rows_nothing_is_made_up(measured: Measured, faults: Faults) -> None:
    with OracleDouble(faults=faults) as double:
        record, found = measured(double, "--host", "none", *CALM)
    assert counters(record) == []
    assert "V$OSSTAT" not in not_sampled(found)
    assert "foreign-load" not in {each.code for each in found.findings}


def test_a_view_that_is_not_refreshed_is_not_believed(measured: Measured) -> None:
    with OracleDouble(faults=Faults(frozen_statistics=True)) as double:
        record, found = measured(double, "--host", "none", *CALM)
    assert not any(covers_all(each) for each in counters(record))
    assert f"by V$OSSTAT (usable in 0 of {len(record.rounds)} round" in not_sampled(found)
    assert "foreign-load" not in {each.code for each in found.findings}


def test_segments_of_a_soak_have_the_hosts_counters(call: Call) -> None:
    with OracleDouble() as double:
        code, _, err = call(
            "soak", double.url, "--sessions", "1", "--for", "4s", "--size", "short", "--host", "none", "--yes", *CALM
        )
    assert code in (0, 1), err
    record = call.last()
    assert len(counters(record)) == len(record.rounds) > 3
    assert all(covers_all(each) for each in counters(record))
    segments = [each for each in record.rounds if not each.anchor]
    assert all(each.host_counters and each.host_counters.unsettled_s >= 0 for each in segments)
    assert any("host's CPU counters: by V$OSSTAT" in each.seen for each in explain(record).findings)


def test_two_databases_of_one_host_have_one_set_of_counters(call: Call) -> None:
    quiet, noisy = (Instance(service=name, container=name.upper()) for name in ("quietpdb", "noisypdb"))
    with OracleDouble(instance=quiet) as one, OracleDouble(instance=noisy) as other:
        code, _, err = call(
            "run", one.url, other.url, "--together", "--sessions", "1:1", "--size", "short", "--executions", "2",
            "--repeats", "1", "--host", "none", "--yes", *CALM,
        )  # fmt: skip
    assert code in (0, 1), err
    record = call.last()
    assert len(counters(record)) == len(record.rounds)
    assert {each.variant for each in record.rounds if each.host_counters} == set(record.header.plan.variants)
