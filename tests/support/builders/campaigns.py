"""Campaigns of simulated hosts in a store, as a fleet leaves them: real records and figures, but no process each."""

from collections.abc import Mapping

from msgspec.structs import replace

from dbcpu.simulator import simulate
from dbcpu.simulator.presets import host_with
from dbcpu.store.campaigns import DONE, Campaign, Item
from dbcpu.store.database import Store
from dbcpu.workflows.kept_figures import keep_run

NOISE, RUN_EFFECT = 0.02, 0.02


def keep_campaign(
    store: Store,
    name: str,
    count: int,
    *,
    seed: int = 0,
    slow: Mapping[int, float] | None = None,
    items: tuple[Item, ...] = (),
    sizes: Mapping[int, str] | None = None,
    quotas: Mapping[int, float] | None = None,
) -> None:
    """``count`` targets db-0, db-1, ... of one kind, each measured once; and ``items`` that were not.

    ``slow``: index -> how many times slower it is; ``sizes``: index -> its size of work where it is not tiny;
    ``quotas``: index -> its CPU quota, where it has one.
    """
    made = []
    for at in range(count):
        host = host_with("this-vm", {
            "noise": NOISE, "slow": (slow or {}).get(at, 1.0), "quota_cpus": (quotas or {}).get(at),
        })  # fmt: skip
        run_id = f"{name}-{seed}-{at}"
        record = simulate(
            host,
            (1, 2),
            2,
            seed=1000 * seed + at,
            size=(sizes or {}).get(at, "tiny"),
            run_id=run_id,
            hz=1,
            run_effect=RUN_EFFECT,
        )
        keep_run(store, replace(record, header=replace(record.header, label=f"{name}/db-{at}")))
        tags = {"instance": "m5.large", "region": ("eu", "us")[at % 2]}
        made.append(Item(f"db-{at}", tags, state=DONE, run_id=run_id))
    store.campaigns.create(Campaign(name, "2026-11-01T00:00:00+00:00", "1", "0" * 64, {}), [*made, *items])
