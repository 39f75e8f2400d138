"""What a station starts for a campaign: nothing that whoever writes into its store could choose."""

import pytest

from dbcpu.workflows.fleet.station import Assignment, _command, command_refused


@pytest.mark.parametrize(
    ("table", "refused"),
    [
        ({"url": "postgresql://me@db/x", "host": "ssh:db"}, False),
        ({"url": "shell"}, False),
        ({"url": "postgresql://me@db/x", "host": "exec:sh -s"}, True),
        ({"url": "shell:///bin/bash"}, True),
        ({"url": "shell:/bin/rm", "host": "ssh:db", "from": "there"}, True),
    ],
)
def test_programs_are_started_only_where_the_station_says_so(
    table: dict[str, str], refused: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DBCPU_FLEET_EXEC", raising=False)
    assert bool(command_refused(table)) is refused
    monkeypatch.setenv("DBCPU_FLEET_EXEC", "yes")
    assert command_refused(table) == ""


def test_the_host_is_required_from_here_and_the_way_from_there() -> None:
    def words(table: dict[str, str]) -> list[str]:
        return _command(
            Assignment("q4", "2026-11-01", "1", "0", "-db", {"url": "postgresql://me@db/x", **table}, ("--aa",))
        )

    assert words({"host": "ssh:db"})[-2:] == ["--", "-db"]
    assert "--host" in words({"host": "ssh:db"})
    assert "--host" not in words({"host": "ssh:db", "from": "there"})
