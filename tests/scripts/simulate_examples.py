"""Writes the records of the simulated examples; their reports are made by tests.

    PYTHONPATH=kit:tests python -m scripts.simulate_examples

The same work for the same time on three hosts: the instance of the 2017 articles, the same with a thread per core
switched off, and a box without hardware threads.
"""

from dbcpu.simulator import SimulatedHost, preset, simulate
from dbcpu.store.record_file import write_record
from support.paths import EXAMPLES

LEVELS = (*range(1, 17), 20)
ON_PREM = SimulatedHost(
    "on-prem", cores=12, threads=1, scheduler="smt_balancing", mrows_per_s=38.0, hypervisor=None,
    about="12 cores without SMT",
)  # fmt: skip
HOSTS = {
    "simulated-c4.4xlarge/record": (preset("c4.4xlarge"), "c4.4xlarge"),
    "simulated-c4.4xlarge-smt-off/record": (preset("c4.4xlarge-smt-off"), "c4.4xlarge, SMT off"),
    "comparison-2017/on-prem": (ON_PREM, "on-prem"),
}


def write() -> None:
    for seed, (name, (host, label)) in enumerate(HOSTS.items(), 1):
        run_id = f"simulated-{host.name}"
        run = simulate(host, LEVELS, repeats=6, seed=seed, seconds=10, hz=10.0, label=label, run_id=run_id)
        write_record(str(EXAMPLES / f"{name}.json.gz"), run)


if __name__ == "__main__":
    write()
