"""Whole runs for tests of what is shown: small, of one mind, and the same every time."""

from msgspec.structs import replace

from dbcpu.record.rounds import CgroupUse, Foreign, Round, RunRecord
from dbcpu.simulator import preset, simulate
from support.builders.comparison import with_variants
from support.builders.record import host, record, round_of, session, solos, workload


def three_on_two() -> RunRecord:
    """Two CPUs, levels 1 to 3; at 3 two sessions are pinned to CPU 0 and one has CPU 1 to itself."""
    rounds = [*solos(3)]
    for repeat in range(5):
        late_s = 0.01 * repeat
        rounds.append(round_of([session(0, 1.81, 0.02 + late_s), session(1, 1.80, 0.02)], repeat=repeat))
        if repeat >= 3:
            continue
        rounds.append(
            round_of(
                [
                    session(0, 1.82, 1.82 + late_s, cpu=0),
                    session(1, 1.82, 1.81, cpu=0),
                    session(2, 1.82, 0.04, cpu=1),
                ],
                repeat=repeat,
                busy_s={0: 3.65, 1: 1.86},
            )
        )
    return record(rounds, repeats=3, label="=1+1 | *bold* <b>", run_id="20261101-120000-three")


def nine_on_eight() -> RunRecord:
    """Eight cores with two threads: at 9 two sessions share core 3; one round lost a session, one is throttled."""
    rounds: list[Round] = [*solos(3)]
    for repeat in range(5):
        rounds.append(round_of([session(i, 1.8 + 0.002 * i) for i in range(8)], repeat=repeat))
        if repeat >= 2:
            continue
        shared = [session(i, 2.72 if i in (3, 8) else 1.8, cpu=11 if i == 8 else i) for i in range(9)]
        rounds.append(round_of(shared, repeat=repeat))
    broken = [session(i, 1.8) for i in range(7)] + [
        session(7, 0.4, answer_ok=None, error="server closed the connection")
    ]
    rounds.append(round_of(broken, repeat=5))
    held = [session(i, 2.72 if i in (3, 8) else 1.8, 0.9, cpu=11 if i == 8 else i) for i in range(9)]
    group = CgroupUse("/system.slice/postgresql.service", 6.0, 30, 29, 8.0, sessions=tuple(range(9)))
    rounds.append(round_of(held, repeat=2, cgroups=(group,), foreign=(Foreign(99, "backup", 3.2, (5,)),)))
    return record(rounds, host(cores=8, threads=2), vcpus=16, run_id="20261101-120000-nine", work=workload())


def two_settings() -> RunRecord:
    """One run of two variants on simulated c4.4xlarge: as it is, and with a thread per core switched off."""
    hosts = [replace(preset(name), rebalance_s=0.2) for name in ("c4.4xlarge", "c4.4xlarge-smt-off")]
    on, off = (simulate(each, (1, 8, 9, 16), repeats=4, seed=1, size="short", executions=8) for each in hosts)
    return with_variants(on, off, "smt_off")
