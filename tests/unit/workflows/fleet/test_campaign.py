"""A campaign before it begins: who takes turns, and what the preview says of it."""

import pytest

from dbcpu.config.inventory import Listed
from dbcpu.config.request import Request
from dbcpu.store.campaigns import Item
from dbcpu.workflows.fleet.campaign import described, foresight, groups_of
from dbcpu.workflows.fleet.window import Window
from dbcpu.workflows.foresee import forecast
from dbcpu.workflows.measure_run import Choices

CHOICES = Choices(sessions="1", seconds=60.0, repeats=1)


def targets(**urls: str) -> tuple[Listed, ...]:
    return tuple(Listed(name.replace("_", "-"), url) for name, url in urls.items())


def preview(listed: tuple[Listed, ...], at_once: int = 8, window: str | None = None) -> str:
    groups = groups_of(listed)
    items = [Item(each.name, {}, groups[each.name]) for each in listed]
    return "\n".join(
        described("q4", items, foresight(listed, CHOICES), at_once, Window.parse(window) if window else None)
    )


def test_databases_of_one_host_take_turns_unless_the_inventory_says_otherwise() -> None:
    found = targets(
        a="postgresql://me@DB1.example/x", b="postgresql://me@db1.example:5433/y", c="postgresql://me@db2.example/x",
        d="sqlite", e="shell", f="simulated://c4.4xlarge", g="simulated://c4.4xlarge",
    )  # fmt: skip
    assert groups_of(found) == {
        "a": "host db1.example", "b": "host db1.example", "c": "", "d": "host here", "e": "host here", "f": "", "g": "",
    }  # fmt: skip
    rack = Listed("r", "postgresql://me@db1.example/z", group="rack")
    assert groups_of([*found, rack])["a"] == "rack"
    own = [Listed(name, "postgresql://me@127.0.0.1/x", host=f"ssh:{name}") for name in ("one", "two")]
    assert set(groups_of(own).values()) == {""}  # behind tunnels


def test_the_preview_counts_turns() -> None:
    apart = preview(targets(a="postgresql://me@a/x", b="postgresql://me@b/x", c="postgresql://me@c/x"))
    turns = preview(targets(a="postgresql://me@a/x", b="postgresql://me@a/y", c="postgresql://me@a/z"))
    assert "take turns" not in apart
    assert apart.splitlines()[0] == "campaign q4: 3 targets, 3 at once", "though 8 may be"
    assert turns.splitlines()[0] == "campaign q4: 3 targets, 1 at once, 1 group of targets that take turns"
    assert apart.splitlines()[1] != turns.splitlines()[1]


def test_a_url_that_comes_twice_is_said() -> None:
    found = preview(targets(old="postgresql://me@a/x", new="postgresql://me@a/x"))
    assert "old and new have the same url: the database would be measured 2 times" in found
    many = preview(targets(**dict.fromkeys("abcdefg", "postgresql://me@a/x")))
    assert "a, b, c, d, e and 2 more have the same url: the database would be measured 7 times" in many


def test_a_command_that_no_station_starts_is_named_and_costs_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DBCPU_FLEET_EXEC", raising=False)
    command = Listed("sec", "postgresql://me@b/x", host="exec:sh -s")
    alone, both = preview(targets(a="postgresql://me@a/x")), preview((*targets(a="postgresql://me@a/x"), command))
    assert "not measured by a station with this environment: sec (its host is a command (exec:), which" in both
    assert both.splitlines()[-2:] == alone.splitlines()[-2:]
    assert "CPU-seconds" not in preview((command,))
    monkeypatch.setenv("DBCPU_FLEET_EXEC", "yes")
    assert "not measured by" not in preview((command,))


def test_simulated_targets_are_not_said_to_take_no_time() -> None:
    found = preview(targets(a="simulated://c4.4xlarge", b="simulated://c4.4xlarge"))
    assert "2 targets simulated: that takes CPU time of this machine" in found
    assert "about 0" not in found


@pytest.mark.parametrize("origin", ["here", "there"])
@pytest.mark.parametrize("tags", [{}, {"vcpus": "99"}])
def test_levels_of_what_runs_here_follow_from_this_machine(origin: str, tags: dict[str, str]) -> None:
    """And of what runs elsewhere they do not, although it is of the same kind."""
    found = foresight([Listed("a", "sqlite", host="ssh:x", tags=tags, origin=origin)], Choices(sessions="auto"))
    own = forecast(Request("a", "sqlite"), Choices(sessions="auto"))
    here = origin == "here"
    assert (found.connections == max(own.levels), found.assumed) == (here, not here and not tags)


def test_the_window_is_part_of_the_preview() -> None:
    assert "measurements start from 01:00 to 05:00 only; it " in preview(targets(a="sqlite"), window="01:00-05:00")
