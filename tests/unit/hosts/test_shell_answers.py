"""A far end that says something else than dbcpu's program there: one sentence, in time; never a loop or a traceback."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dbcpu.errors import HostError, UsageError
from dbcpu.hosts import shell_connection
from dbcpu.hosts.base import Ahead
from dbcpu.hosts.shell_connection import ShellConnection
from dbcpu.hosts.ssh import open_host, transport

GREETING = "dbcpu-system\nLinux\ndbcpu-host 1 4711 4710 100\n.\n"


class FarEnd:
    """Looks like an ssh process whose far end has sent ``said`` already; ``stays``: and says no more, but listens."""

    pid = 0

    def __init__(self, said: str, stays: bool) -> None:
        reading, self.writing = os.pipe()
        os.write(self.writing, said.encode())
        if not stays:
            os.close(self.writing)
        self.stdout: Any = os.fdopen(reading, "rb", buffering=0)
        self.stdin: Any = Path(os.devnull).open("wb", buffering=0)  # noqa: SIM115 - closed with the connection

    def wait(self, timeout: float | None = None) -> int:
        return 255

    def kill(self) -> None: ...


Says = Callable[..., None]


@pytest.fixture
def says(monkeypatch: pytest.MonkeyPatch) -> Says:
    def say(text: str, *, stays: bool = False) -> None:
        monkeypatch.setattr(ShellConnection, "_launch", lambda *_: FarEnd(text, stays))

    return say


@pytest.mark.parametrize("words", ["none", "1", "none no-idea", "1 a b c", "1 2 3 0", "1 2 3", ""])
def test_an_odd_greeting_is_refused(says: Says, words: str) -> None:
    says(f"dbcpu-system\nLinux\ndbcpu-host {words}\n.\n")
    with pytest.raises(HostError, match=r"ssh:far answered '.*', which dbcpu's program there does not say"):
        open_host("far")


@pytest.mark.parametrize(
    "answer", ["", "x", "|now\nR 3 77 1 2\n-\n", "|1.5\n", "|1.5\nR 3\n-\n", "|1.5\nR 3 77 x y\n-\n", "|nan\n-\n-\n"]
)
def test_an_odd_poll_is_refused(says: Says, answer: str) -> None:
    says(f"{GREETING}.\n{answer}\n.\n")
    with open_host("far") as host:
        host.watch(["/proc/1", "/proc/2"])
        with pytest.raises(HostError, match="which dbcpu's program there does not say"):
            host.poll(True)


def test_a_path_that_is_not_absolute_is_left_out(says: Says) -> None:
    says(f"{GREETING}+proc/stat\n|cpu 1\n+/proc/uptime\n|1.5 1\n.\n")
    with open_host("far") as host:
        files = host.read_all(["/proc/stat", "/proc/uptime"])
        assert files == {"/proc/uptime": "1.5 1\n"}
        assert Ahead(host, {"relative/path": "x"}, ["relative"]).list("relative") == ("path",)


def test_a_far_end_that_stays_silent_is_given_up(says: Says, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ShellConnection.ask, "__defaults__", (0.05,))
    says(GREETING, stays=True)
    with open_host("far") as host, pytest.raises(HostError, match=r"ssh:far did not answer within 0\.05 s"):
        host.read_all(["/proc/stat"])


@pytest.mark.parametrize("text", ["|x\n" * 500, "|" + "x" * 1500])
def test_an_answer_without_an_end_is_given_up(says: Says, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr(shell_connection, "MAX_ANSWER_BYTES", 400)
    says(GREETING + text)
    with open_host("far") as host, pytest.raises(HostError, match="that has no end"):
        host.process_stats()


@pytest.mark.parametrize("text", ["y\n" * 500, "y" * 1500, f"{GREETING[:19]}y\n" + "y\n" * 500])
def test_a_greeting_without_an_end_is_given_up(says: Says, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr(shell_connection, "MAX_GREETING_BYTES", 400)
    says(text, stays=True)
    with pytest.raises(HostError, match="ssh:far sent an answer that has no end"):
        ShellConnection(transport("far"), "")


@pytest.mark.parametrize("port", ["0", "65536", "99999"])
def test_a_port_that_nobody_listens_at_is_wrong_usage(port: str) -> None:
    with pytest.raises(UsageError, match=f"the port of ssh:me@far:{port} is {port}; give one from 1 to 65535"):
        transport(f"me@far:{port}")


@pytest.mark.parametrize("where", ["a$(id)", "a`id`", "a;id", "us'er@host", "a|b", "user@ho\\st"])
def test_characters_of_a_shell_are_no_host(where: str) -> None:
    with pytest.raises(UsageError, match="is no host for ssh"):
        transport(where)
