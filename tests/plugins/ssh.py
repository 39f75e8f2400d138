"""An sshd on loopback: ``sshd`` is one per test session, and ssh is found first in ``sshd.path``; see serve_ssh.py."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.servers.ssh import Sshd, installed


@pytest.fixture(scope="session")
def _running_sshd() -> Iterator[Sshd]:
    installed()
    folder = Path(tempfile.mkdtemp(prefix="ssh-"))
    try:
        server = Sshd(folder)
        server.start()
        try:
            yield server
        finally:
            server.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def sshd(_running_sshd: Sshd, monkeypatch: pytest.MonkeyPatch) -> Sshd:
    """The test's own ssh, and no agent."""
    monkeypatch.setenv("PATH", f"{_running_sshd.path}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    return _running_sshd
