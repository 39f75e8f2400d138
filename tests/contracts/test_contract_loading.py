"""A run loads what it needs: nothing that explains, draws, simulates or drives another database while it measures."""

from pathlib import Path

from support.loaded_modules import loaded_by_run

MAX_MODULES = 120
"""Of dbcpu's own, until the last round has ended: docs/decisions/0010-what-a-run-loads.md."""
NOT_NEEDED = (
    "analysis.adaptive_plan", "analysis.causes", "analysis.conclusions", "analysis.comparison", "analysis.experiments",
    "analysis.explain", "analysis.history", "analysis.levels", "analysis.scaling", "analysis.statistics", "api",
    "hosts.shell_host", "hosts.ssh", "measure.experiments.soak", "measure.variants", "reports.charts",
    "reports.documents", "simulator", "store.campaigns", "targets.embedded", "targets.oracle", "targets.postgresql",
    "targets.shell", "variants._apply", "workflows.fleet", "workflows.present",
)  # fmt: skip


def test_a_run_of_given_levels_loads_little_of_dbcpu_until_its_last_round_has_ended(tmp_path: Path) -> None:
    loaded = loaded_by_run("measuring", tmp_path, "--sessions", "1")
    assert "dbcpu.measure.gate" in loaded
    assert "dbcpu.targets.sqlite" in loaded
    parts = {f"dbcpu.{part}" for part in NOT_NEEDED}
    assert [name for name in loaded if any(f"{name}.".startswith(f"{part}.") for part in parts)] == []
    assert len(loaded) <= MAX_MODULES, (
        f"a run loads {len(loaded)} modules of dbcpu to measure, and {MAX_MODULES} are the limit: import what few runs "
        "need where it is used (docs/decisions/0010-what-a-run-loads.md). Each sampler is one of them, as it is asked "
        f"whether it can be used. Loaded: {' '.join(loaded)}"
    )
