"""The witness over a real ssh connection: pieces of every CPU of the host, and nothing left behind there."""

import os
import time
from contextlib import ExitStack
from pathlib import Path

import pytest

from dbcpu.hosts.ssh import open_host
from dbcpu.hosts.topology import read_host
from dbcpu.measure.pace import Paced, open_witness
from dbcpu.measure.pace.far import FarWitness
from dbcpu.record.rounds import RunRecord
from dbcpu.workflows.measure_run import Choices
from support.driving import until
from support.measured_run import measured
from support.servers.postgresql import DebianServer
from support.servers.ssh import TOOLS, Sshd

pytestmark = [pytest.mark.slow]

CPUS = sorted(os.sched_getaffinity(0))
FEW = 5


@pytest.mark.parametrize("tools", TOOLS)
def test_every_cpu_does_pieces_under_each_shell_and_awk(sshd: Sshd, tools: str) -> None:
    name = f"pace-{tools.replace(' ', '-')}-{time.monotonic_ns()}"
    sshd.has_tools(name, TOOLS[tools])
    with open_host(name) as host:
        with FarWitness(host, CPUS, 2.0) as witness:
            pids = witness.pids
            assert len(pids) >= 1 + len(CPUS)
            paced = seen(witness)
        assert paced.hz * witness._tick_s <= 0.0101
        for cpu, ends, took in paced.cpus:
            assert len(ends) == len(took)
            assert list(ends) == sorted(ends)
            assert all(0 < ns < 100e6 for ns in took), cpu
        assert paced.cpu_used_s > 0
    until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in pids), "the far end has ended")


def test_a_host_without_taskset_is_said(sshd: Sshd) -> None:
    tools = sshd.has_tools("no-taskset", TOOLS["dash and mawk"])
    (tools / "taskset").unlink()
    with open_host("no-taskset") as host, ExitStack() as stack:
        witness, notes = open_witness(host, "ssh", read_host(host), 2.0, None, stack)
    assert witness is None
    assert notes == ("the pace of the CPUs was not measured: it has no taskset",)


def seen(witness: FarWitness) -> Paced:
    """Rounds of the witness until all CPUs did some pieces: of a busy CPU a piece takes long, and they are rare."""
    found: list[Paced] = []

    def enough() -> bool:
        witness.begin()
        time.sleep((1 + len(found)) * FEW / witness.hz)  # nothing is seen of them before the end
        found.append(witness.end())
        return [cpu for cpu, ends, _ in found[-1].cpus if len(ends) >= FEW] == CPUS

    until(enough, "every CPU did pieces")
    return found[-1]


@pytest.mark.postgres
def test_a_run_over_ssh_holds_the_pieces_beside_its_sessions(
    sshd: Sshd, debian_server: DebianServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pids = list[int]()
    really_open = FarWitness._open

    def noted(witness: FarWitness) -> None:
        really_open(witness)
        pids.extend(witness.pids)

    monkeypatch.setattr(FarWitness, "_open", noted)
    choices = Choices(sessions="1", size="tiny", for_s=1.5, repeats=1, seed=1, pace=20.0, host="ssh:dbhost")
    found: list[RunRecord] = []

    def witnessed() -> bool:
        found.append(measured(debian_server.url, tmp_path, choices)[0])
        if found[-1].rounds[-1].witness is not None:
            return True
        # Beside other tests a piece may take so long that too few are 1 % of a CPU.
        notes = found[-1].header.notes
        assert any("sessions of 1.5 s have room for" in note for note in notes), notes
        return False

    until(witnessed, "the CPUs have room for the witness")
    each = found[-1].rounds[-1]
    assert each.witness is not None
    assert [cpu.cpu for cpu in each.witness.cpus] == CPUS
    assert any(at_us < 0 for cpu in each.witness.cpus for at_us in cpu.at_us), "before the release, too"
    assert any(at_us > 0 for cpu in each.witness.cpus for at_us in cpu.at_us)
    assert each.cost is not None
    assert each.cost.witness_cpu_s
    assert len(pids) >= 1 + len(CPUS)
    assert not {process.pid for process in each.foreign} & {*pids}, "it is no load of somebody else's"
