"""The figures of a run are those that its analysis says, and a history reads from them what it read from the record."""

import pytest
from msgspec.structs import replace

from dbcpu.analysis.explain import explain
from dbcpu.analysis.history.limits import history_key, in_maintenance, same_history
from dbcpu.analysis.history.run_figures import run_figures
from dbcpu.record.figures import LONGEST_VARIANT
from support.builders.comparison import noisy_run, with_variants


def test_figures_of_run_and_level_are_those_of_the_analysis() -> None:
    record = noisy_run(1, uneven=1.5, levels=(1, 2, 4))
    analysis = explain(record)
    found = run_figures(record, analysis)
    assert analysis.reference is not None
    assert found.value("solo_s") == analysis.reference.elapsed_s
    assert found.value("rounds") == len(record.rounds)
    assert found.text("unit") == "Mrows/s"
    assert found.levels(found.text("variant")) == (1, 2, 4)
    for view in analysis.levels:
        at = (view.level, view.variant)
        assert found.value("throughput_mrows_per_s", *at) == view.throughput
        assert found.value("max_over_min_x", *at) == view.max_over_min
        assert found.text("even", *at) == view.even.value
        assert found.value("even", *at) == {"yes": 1.0, "no": 0.0}.get(view.even.value)


def test_run_delay_is_the_share_of_the_median_session() -> None:
    record = noisy_run(1, levels=(1, 2))
    rounds = tuple(
        replace(each, sessions=tuple(
            replace(one, run_delay_s=(one.ordinal + 1) * 0.1 * sum(e.elapsed_s for e in one.executions))
            for one in each.sessions
        )) for each in record.rounds
    )  # fmt: skip
    made = replace(record, rounds=rounds)
    analysis = explain(made)
    found = run_figures(made, analysis)
    assert found.value("run_delay_share", 2, "baseline") == pytest.approx(0.15, rel=0.02)


def test_levels_of_each_variant_are_kept_apart_and_long_names_fit() -> None:
    name = "cpus:" + ",".join(map(str, range(0, 200, 2)))
    record = with_variants(noisy_run(1), noisy_run(2, speed=0.8), name)
    found = run_figures(record, explain(record))
    variants = {each.variant for each in found.all} - {""}
    assert len(variants) == 2 and "baseline" in variants
    (short,) = variants - {"baseline"}
    assert len(short) == LONGEST_VARIANT and short.startswith("cpus:0,2,4")
    assert found.levels(short) == found.levels("baseline")


def test_a_soak_says_of_how_many_rounds_it_is() -> None:
    record = noisy_run(1, levels=(1, 2))
    assert run_figures(record, explain(record), rounds=1440).value("rounds") == 1440


def test_the_key_of_a_history_says_what_runs_must_share() -> None:
    one = noisy_run(1).header
    work = one.plan.workload
    unknown = replace(one, plan=replace(one.plan, workload=replace(work, sql_hash=None)))
    longer = replace(one, plan=replace(one.plan, workload=replace(work, size="long", n=120)))
    elsewhere = noisy_run(1, target="other").header
    window = replace(one, label="maintenance window")
    soak = replace(one, plan=replace(one.plan, experiment="soak", levels=(3,)))
    wider = replace(soak, plan=replace(soak.plan, levels=(12,)))
    pool = replace(one, plan=replace(one.plan, experiment="pool", pieces=20))
    waiting = replace(pool, plan=replace(pool.plan, blocking=10, block_s=1.0))
    assert in_maintenance(window)
    assert same_history(history_key(one), history_key(noisy_run(2).header))
    assert same_history(history_key(one), history_key(unknown))
    for other in (longer, elsewhere, window, soak, pool):
        assert not same_history(history_key(one), history_key(other))
    assert not same_history(history_key(pool), history_key(waiting))
    assert same_history(history_key(soak), history_key(replace(soak, label="again")))
    assert not same_history(history_key(soak), history_key(wider)), "only their single sessions could be compared"
