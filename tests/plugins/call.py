"""``call`` runs the program within the test's process: starting one, and loading all of dbcpu, takes a second of CPU.

For what a process of its own would not show otherwise; signals, terminals and exit codes of the shell need ``drive``.
"""

from pathlib import Path

import pytest

from dbcpu.cli import main
from dbcpu.record.rounds import RunRecord
from dbcpu.store.database import open_store
from support.driving import SECRETS

PICTURED = ("run", "soak")


class Call:
    """``call("doctor", url)``: its exit code, standard output and standard error; none may show a traceback."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, *arguments: str) -> tuple[int, str, str]:
        if arguments[0] in PICTURED and "--report" not in arguments:
            arguments = (*arguments, "--report", "none")
        code = main(arguments)
        out, err = self._capsys.readouterr()
        assert "Traceback" not in err
        assert not [secret for secret in SECRETS if secret in out + err]
        return code, out, err

    def last(self) -> RunRecord:
        """The run that was stored last."""
        with open_store(None) as store:
            return store.load("last")


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    """A store and a folder of this test's own."""
    monkeypatch.setenv("DBCPU_STORE", str(tmp_path / "runs.db"))
    monkeypatch.chdir(tmp_path)
    return Call(capsys)
