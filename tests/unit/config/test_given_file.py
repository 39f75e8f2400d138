"""What is read where the user named a FIFO, or the descriptor of a pipe."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from dbcpu.config.given_file import read_given
from dbcpu.config.trusted_file import UntrustedFile
from dbcpu.store.record_file import write_record
from plugins import runs

NOBODY = 65534


@pytest.fixture
def fifo(tmp_path: Path) -> Path:
    path = tmp_path / "given.json"
    os.mkfifo(path)
    return path


@pytest.mark.skipif(os.geteuid() != 0, reason="this machine's user may not give a FIFO to another user")
def test_a_fifo_of_another_user_is_not_waited_for(fifo: Path) -> None:
    os.chown(fifo, NOBODY, NOBODY)
    with pytest.raises(UntrustedFile, match=rf"^{fifo} is a FIFO of user .*; name a file$"):
        read_given(fifo, 100)


def test_a_fifo_of_ones_own_is_waited_for_and_read_to_its_end(fifo: Path) -> None:
    write = "import sys; stream = open(sys.argv[1], 'w'); stream.write('one '); stream.flush(); stream.write('two')"
    with subprocess.Popen([sys.executable, "-c", write, fifo]):
        assert read_given(fifo, 100) == b"one two"


def test_a_file_is_read_to_the_limit(tmp_path: Path) -> None:
    (tmp_path / "given").write_bytes(b"0123456789")
    assert read_given(tmp_path / "given", 4) == b"0123"


def test_a_run_is_imported_from_a_pipe(tmp_path: Path) -> None:
    write_record(tmp_path / "run.json", runs.record())
    command = f'{sys.executable} -m dbcpu import <(cat "{tmp_path}/run.json") --store "{tmp_path}/runs.db"'
    done = subprocess.run(
        ["bash", "-c", command], env=runs.environment(PYTHONPATH=":".join(sys.path)), capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"{runs.record().header.run_id}\n"
