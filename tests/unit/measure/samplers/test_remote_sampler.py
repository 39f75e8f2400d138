"""Sampling over a connection, on a host that is not there: what is asked, what is made of the answers."""

import threading
from pathlib import Path

import pytest

from dbcpu.errors import MeasureError
from dbcpu.hosts.base import Reading
from dbcpu.hosts.local import LocalHost
from dbcpu.measure.samplers import _remote as remote
from dbcpu.measure.samplers import procfs, sql, ssh
from dbcpu.measure.samplers._remote import RemoteSampler
from dbcpu.measure.samplers.base import Watched
from support.doubles.proc_folder import FakeProc
from support.doubles.remote_host import FakeRemote

FAST_HZ = 500.0
PATIENCE_S = 120.0


@pytest.fixture
def proc(tmp_path: Path) -> FakeProc:
    made = FakeProc(tmp_path / "root")
    made.process(60, command="awk", schedstat=(1_000_000_000, 0))
    made.process(42, state="R", cpu=0, schedstat=(1_000_000_000, 0))
    return made


@pytest.fixture
def host(proc: FakeProc) -> FakeRemote:
    return FakeRemote(proc.root)


def polled(host: FakeRemote, number: int) -> threading.Event:
    """Set when the host has been asked so many times."""
    reached = threading.Event()

    def note(asked: int) -> None:
        if asked >= number:
            reached.set()

    host.on_poll = note
    return reached


def test_a_round_brings_placement_counters_cost_and_clock(proc: FakeProc, host: FakeRemote) -> None:
    proc.process(50, command="backup", spent_ticks=10)
    with RemoteSampler(host, FAST_HZ) as sampler:
        enough = polled(host, remote.PROBES + 4)
        sampler.start([Watched(3, 42, None)], [70])
        assert enough.wait(PATIENCE_S)
        proc.process(42, state="R", cpu=1, schedstat=(3_000_000_000, 500_000_000))
        proc.process(50, command="backup", spent_ticks=60, cpu=1)
        proc.process(60, command="awk", schedstat=(1_250_000_000, 0))
        proc.process(70, command="driver", spent_ticks=900)
        assert polled(host, host.asked + 4).wait(PATIENCE_S)
        sampled = sampler.stop()
    (seen,) = sampled.sessions
    assert (seen.ordinal, seen.cpu_s, seen.run_delay_s, seen.cpu_source) == (3, 2.0, 0.5, "schedstat")
    assert [one.cpu for one in seen.residency] == [0, 1]
    assert sum(one.cpu_s or 0.0 for one in seen.residency) == pytest.approx(2.0)
    assert seen.migrations_seen == 1
    assert [(one.command, one.cpu_s) for one in sampled.foreign] == [("backup", 0.5)], "neither awk nor the driver"
    assert sampled.cpu_used_s == pytest.approx(0.25)
    assert sampled.polls == host.asked - remote.PROBES
    (clock,) = sampled.clocks
    assert clock.source == "sampler (ssh)"
    assert clock.offset_s == pytest.approx(1000.0, abs=clock.uncertainty_s + 1e-6)
    assert len(sampled.timeline_s) >= 2
    assert [one.cpu for one in sampled.cpu_timeline] == [0, 1]
    assert host.history == [("/proc/42",), ()], "watched for the round and no longer"


def test_several_rounds_follow_each_other(host: FakeRemote) -> None:
    with RemoteSampler(host, FAST_HZ) as sampler:
        for _ in range(2):
            sampler.start([Watched(0, 42, None)], [])
            assert {one.cpu for one in sampler.stop().sessions[0].residency} <= {0}
    assert host.history == [("/proc/42",), ()] * 2


@pytest.mark.parametrize("fate", ["ended", "replaced"])
def test_process_that_is_gone_keeps_what_was_seen(proc: FakeProc, host: FakeRemote, fate: str) -> None:
    """Without a kept descriptor it is the start time that tells a new process by the same number."""
    with RemoteSampler(host, FAST_HZ) as sampler:
        enough = polled(host, remote.PROBES + 4)
        sampler.start([Watched(0, 42, None)], [])
        assert enough.wait(PATIENCE_S)
        if fate == "ended":
            (proc.root / "proc/42/stat").unlink()
        else:
            proc.process(42, cpu=1, start_ticks=9999, schedstat=(1, 1))
        assert polled(host, host.asked + 4).wait(PATIENCE_S)
        (seen,) = sampler.stop().sessions
    assert seen.vanished
    assert {one.cpu for one in seen.residency} == {0}
    assert seen.cpu_s == 0.0, "to the last poll"


def test_counters_that_go_backwards_are_those_of_another_process() -> None:
    """It came in its place between the two files of one poll: the start time is still the old one's."""
    track = remote._Track()
    track.poll(1.0, Reading("R", 0, 5000, 1_000_000_000, 0))
    track.poll(2.0, Reading("R", 1, 5000, 1, 1))
    told = track.polled(0, {}, {})
    assert told["gone"]
    assert told["last"] == [1_000_000_000, 0]


def test_lost_connection_ends_the_round_in_one_sentence(host: FakeRemote) -> None:
    with RemoteSampler(host, FAST_HZ) as sampler:
        sampler.start([Watched(0, 42, None)], [])
        host.lost = True
        with pytest.raises(MeasureError, match=r"^sampling ended in the midst of a round: the connection to ssh:fake"):
            sampler.stop()


def test_rate_is_lowered_where_many_are_watched(host: FakeRemote) -> None:
    with RemoteSampler(host, 20.0) as sampler:
        sampler.start([Watched(ordinal, 42, None) for ordinal in range(300)], [])
        assert polled(host, host.asked + 3).wait(PATIENCE_S)
        assert sampler.stop().hz < 10.0


def test_round_that_is_abandoned_stops_asking(host: FakeRemote) -> None:
    with RemoteSampler(host, FAST_HZ) as sampler:
        sampler.start([Watched(0, 42, None)], [])
    asked = host.asked
    assert host.history[-1] == ()
    assert not [thread for thread in threading.enumerate() if thread.daemon and "_run" in thread.name]
    assert host.asked == asked


def test_each_sampler_takes_its_own_kind_of_host(tmp_path: Path) -> None:
    over_ssh, over_sql = FakeRemote(tmp_path), FakeRemote(tmp_path, "sql")
    assert (ssh.unavailable(over_ssh), sql.unavailable(over_sql)) == (None, None)
    assert "--host ssh:NAME" in (ssh.unavailable(over_sql) or "")
    assert "--host sql" in (sql.unavailable(LocalHost()) or "")
    assert "ssh:fake is not this machine" in (procfs.unavailable(over_ssh) or "")
    for member, wrong in ((ssh, over_sql), (sql, None), (procfs, over_ssh)):
        with pytest.raises(MeasureError, match="not possible"):
            member.open_sampler(wrong, 20.0)
