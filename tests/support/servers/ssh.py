"""Starts an sshd on loopback for tests: its own port, keys and configuration, and an ssh that knows only those."""

import getpass
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from support.servers.postgresql import free_port

PROGRAM = "/usr/sbin/sshd"
START_LIMIT_S = 60.0
TOOLS = {
    "dash and mawk": {"sh": ("dash",), "awk": ("mawk",)},
    "bash and gawk": {"sh": ("bash",), "awk": ("gawk",)},
    "busybox": {"sh": ("busybox",), "awk": ("busybox",), "*": ("busybox",)},
}
"""What a database host may have, by name; the first that is installed is taken."""
_OTHER_TOOLS = (
    "cat", "chrt", "echo", "grep", "getconf", "id", "ls", "mkdir", "mount", "rmdir", "sed", "setsid", "sleep",
    "taskset", "tr", "uname", "unshare",
)  # fmt: skip


def make_tools(folder: Path, tools: Mapping[str, Sequence[str]]) -> Path:
    """A PATH with these programs by these names; ``*`` stands for all others. Skips where one is not here."""
    folder.mkdir()
    for tool in ("sh", "awk", *_OTHER_TOOLS):
        wanted = tools.get(tool) or (*tools.get("*", ()), tool)
        found = next((path for each in wanted if (path := shutil.which(each))), None)
        if found is None and tool in tools:
            pytest.skip(f"{wanted[0]} is not installed here")
        if found is not None:
            (folder / tool).symlink_to(found)
    return folder


class Sshd:
    """A server whose one user is whoever runs the tests. ``path``: a folder with an ssh that knows it as ``dbhost``."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = free_port()
        self._process: Any = None
        self.path, self.home = folder / "bin", folder / "home"
        self.path.mkdir()
        self.home.mkdir()
        for name in ("host_key", "user_key", "other_key"):
            command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)]
            subprocess.run(command, check=True, stdin=subprocess.DEVNULL)
        self._authorized = folder / "authorized_keys"
        self._authorized.write_text((folder / "user_key.pub").read_text())
        host_key = (folder / "host_key.pub").read_text()
        (folder / "known_hosts").write_text(f"[127.0.0.1]:{self.port} {host_key}")
        (folder / "sshd_config").write_text(
            f"Port {self.port}\nListenAddress 127.0.0.1\nHostKey {folder}/host_key\nPidFile none\nStrictModes no\n"
            f"AuthorizedKeysFile {self._authorized}\nUsePAM no\nPasswordAuthentication no\n"
            # Without the login files of whoever runs the tests, which may take longer than the command itself.
            f"KbdInteractiveAuthentication no\nPermitRootLogin prohibit-password\nSetEnv HOME={self.home}\n"
        )
        self._entries: dict[str, str] = {}
        self.knows("dbhost")
        ssh = shutil.which("ssh")
        wrapper = self.path / "ssh"
        wrapper.write_text(f'#!/bin/sh\nexec {ssh} -F {folder}/config "$@"\n')
        wrapper.chmod(0o755)

    def knows(self, name: str, **settings: str) -> None:
        """Let ssh know this server by another name, with other settings of ssh_config(5). The last of a name counts."""
        given = {
            "HostName": "127.0.0.1",
            "Port": str(self.port),
            "User": getpass.getuser(),
            "IdentityFile": str(self.folder / "user_key"),
            "IdentitiesOnly": "yes",
            "UserKnownHostsFile": str(self.folder / "known_hosts"),
            "GlobalKnownHostsFile": "/dev/null",
            # The one that resists quantum computers takes a tenth of a second of CPU for each connection.
            "KexAlgorithms": "curve25519-sha256",
        } | settings
        self._entries[name] = f"Host {name}\n" + "".join(f"    {key} {value}\n" for key, value in given.items())
        (self.folder / "config").write_text("".join(self._entries.values()))

    def forces(self, name: str, command: str) -> None:
        """The host ``name`` runs ``command`` whatever it is asked to, with that in SSH_ORIGINAL_COMMAND."""
        key = self.folder / f"key of {name}"
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
        with self._authorized.open("a") as file:
            file.write(f'command="{command}" {key.with_name(key.name + ".pub").read_text()}')
        self.knows(name, IdentityFile=f'"{key}"')

    def has_tools(self, name: str, tools: Mapping[str, Sequence[str]]) -> Path:
        """The host ``name`` has these programs and no others; returns their folder."""
        folder = make_tools(self.folder / f"tools of {name}".replace(" ", "-"), tools)
        login = self.folder / f"login-of-{name}"
        login.write_text(f'#!/bin/sh\nexport PATH={folder}\nexec {folder}/sh -c "$SSH_ORIGINAL_COMMAND"\n')
        login.chmod(0o755)
        self.forces(name, str(login))
        return folder

    @property
    def pid(self) -> int:
        return int(self._process.pid)

    def start(self) -> None:
        if os.geteuid() == 0:
            Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
        with (self.folder / "log").open("wb") as log:
            self._process = subprocess.Popen(
                [PROGRAM, "-D", "-e", "-f", self.folder / "sshd_config"],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            )  # fmt: skip
        limit_s = time.monotonic() + START_LIMIT_S
        while "Server listening" not in (said := (self.folder / "log").read_text(errors="replace")):
            if self._process.poll() is not None or time.monotonic() > limit_s:
                pytest.fail(f"sshd did not start: {said[-2000:]}")
            time.sleep(0.01)

    def stop(self) -> None:
        self._process.terminate()
        self._process.wait(START_LIMIT_S)

    def suspend(self) -> None:
        """It answers no more: the kernel accepts connections, and nobody takes them."""
        self._process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        self._process.send_signal(signal.SIGCONT)

    def refuse(self) -> None:
        """Nobody may log in."""
        self._authorized.write_text("")


def installed() -> None:
    """Skips the test where there is no sshd."""
    if not os.access(PROGRAM, os.X_OK):
        pytest.skip(f"the package openssh-server is not installed: no {PROGRAM}")
