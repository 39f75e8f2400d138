"""The largest level at full speed: of one variant, or of any of several targets."""

from dbcpu.analysis.conclusions.fine_levels import largest_full_speed_level
from dbcpu.analysis.explain import explain
from dbcpu.simulator import SimulatedHost, simulate
from dbcpu.simulator.experiments import RunOptions, simulate_together


def test_of_several_variants_the_first_alone_says_how_many_are_at_full_speed() -> None:
    host, variants = SimulatedHost(cores=8, threads=1, waits=0.5), ("baseline", "cpus:0-3")
    found = explain(simulate(host, (1, 2, 4, 8, 12, 16), repeats=6, seed=1, variants=variants))
    free, held = ([each for each in found.levels if each.variant == name] for name in variants)
    few, many = (largest_full_speed_level(each, found.vcpus) for each in (held, free))
    assert few < many, "else this tests nothing"
    assert largest_full_speed_level((*free, *held), found.vcpus) == many
    assert largest_full_speed_level((*held, *free), found.vcpus) == few


def test_of_targets_together_any_of_them_says_it() -> None:
    host = SimulatedHost(cores=4, threads=1, waits=0.5)
    found = explain(simulate_together(host, (2, 3), (), RunOptions(repeats=6, seed=1)))
    by_target = {
        name: largest_full_speed_level([each for each in found.levels if each.variant == name], found.vcpus)
        for name in {each.variant for each in found.levels}
    }
    first = found.levels[0].variant
    assert by_target[first] < max(by_target.values()), "else this tests nothing"
    assert largest_full_speed_level(found.levels, found.vcpus) == max(by_target.values())
