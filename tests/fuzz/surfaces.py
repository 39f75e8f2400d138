"""Every way in, by name."""

from collections.abc import Callable
from typing import Any

from hypothesis.strategies import SearchStrategy
from msgspec import Struct

from fuzz import from_files, from_hosts, from_users
from fuzz.sandbox import Sandbox


class Surface(Struct, frozen=True):
    """``feed`` gives what ``inputs`` draws to the code, and raises ``sandbox.Failure``. ``short``: inputs in CI."""

    inputs: SearchStrategy[Any]
    feed: Callable[[Sandbox, Any], None]
    short: int


SURFACES: dict[str, Surface] = {
    "command lines": Surface(from_users.command_lines(), from_users.run_command_line, 200),
    "dbcpu.toml": Surface(from_users.toml_files(), from_users.read_toml, 100),
    "records": Surface(from_files.records(), from_files.read_record, 100),
    "line files": Surface(from_files.line_files(), from_files.read_lines, 100),
    "CSV": Surface(from_files.csv_files(), from_files.read_csv, 150),
    "logs of others": Surface(from_files.other_logs(), from_files.read_csv, 100),
    "journals": Surface(from_hosts.journals(), from_hosts.restore_journals, 200),
    "hosts": Surface(from_hosts.hosts(), from_hosts.read_host_tree, 150),
    "ssh": Surface(from_hosts.ssh_answers(), from_hosts.ask_over_ssh, 300),
    "servers": Surface(from_hosts.banners(), from_hosts.meet_server, 60),
}
