"""A journal is obeyed with its reader's rights: one that somebody else can have written is left alone."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from dbcpu.errors import HostError
from dbcpu.hosts.local import LocalHost
from dbcpu.variants import _journal
from dbcpu.variants._journal import UndoJournal
from dbcpu.variants._restore import findings, leftovers, restore
from dbcpu.variants._settings import SettingAccess

NOBODY = 65534
CONTROL = "/sys/devices/system/cpu/smt/control"
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="this machine's user may not give files to somebody else")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A host whose SMT control says off, and a file that is nobody's business."""
    for name, text in ((CONTROL, "off"), ("/etc/shadow", "root:*")):
        file = tmp_path / "root" / name.lstrip("/")
        file.parent.mkdir(parents=True)
        file.write_text(f"{text}\n")
    return tmp_path / "root"


def write_journal(folder: Path, root: Path, what: str, before: str, after: str) -> Path:
    folder.mkdir(mode=0o755, parents=True)
    lines = [
        {"journal": 1, "host": str(root), "boot_id": "", "target": "", "pid": 1},
        {"change": 0, "what": what, "before": before, "after": after},
    ]
    path = folder / "a.journal"
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return path


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DBCPU_JOURNAL", str(tmp_path / "state" / "journal"))
    return tmp_path / "state" / "journal"


def text_of(root: Path, name: str) -> str:
    return (root / name.lstrip("/")).read_text().strip()


def test_own_journal_is_obeyed(folder: Path, root: Path) -> None:
    path = write_journal(folder, root, f"file:{CONTROL}", "on", "off")
    assert restore().failures == []
    assert (text_of(root, CONTROL), path.exists()) == ("on", False)


@as_root
@pytest.mark.parametrize("level", [0, 1, 2], ids=["journal", "folder", "folder above"])
def test_journal_that_somebody_else_owns_is_left_alone_and_said(folder: Path, root: Path, level: int) -> None:
    path = write_journal(folder, root, f"file:{CONTROL}", "on", "off")
    place = [path, *path.parents][level]
    os.chown(place, NOBODY, NOBODY)
    (failure,) = restore().failures
    assert failure.startswith(f"a journal was left alone: {place} belongs to user ")
    assert (text_of(root, CONTROL), path.exists()) == ("off", True)
    assert leftovers() == ()
    assert findings() == ()


@as_root
def test_plain_user_cannot_have_root_write_a_file(
    root: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    """He has a state folder of his own, as the service manager gives one, and root looks into it."""
    state = Path(tempfile.mkdtemp(prefix="dbcpu-test-"))
    state.chmod(0o1777)
    request.addfinalizer(lambda: shutil.rmtree(state))
    script = (
        "import json, os, sys\n"
        f"os.setgid({NOBODY}); os.setuid({NOBODY})\n"
        "os.makedirs(sys.argv[1] + '/journal')\n"
        "with open(sys.argv[1] + '/journal/x.journal', 'w') as file:\n"
        f"    file.write(json.dumps({{'journal': 1, 'host': {str(root)!r}}}) + chr(10))\n"
        "    change = {'change': 0, 'what': 'file:/etc/shadow', 'before': 'root::', 'after': 'root:*'}\n"
        "    file.write(json.dumps(change) + chr(10))\n"
    )
    subprocess.run([sys.executable, "-c", script, str(state / "dbcpu")], check=True)
    monkeypatch.setenv("DBCPU_JOURNAL", str(state / "dbcpu" / "journal"))
    assert "belongs to user" in restore().failures[0]
    assert text_of(root, "/etc/shadow") == "root:*"


@pytest.mark.parametrize(
    "what",
    ["file:/etc/shadow", "file:/sys/kernel/uevent_helper", f"file:{CONTROL}/../../../../../etc/shadow",
     "file:/sys/devices/system/cpu/cpu1/../../../../etc/online", "file:/proc/sys/kernel/core_pattern"],
)  # fmt: skip
def test_no_other_file_is_written_or_read_whatever_a_journal_says(folder: Path, root: Path, what: str) -> None:
    write_journal(folder, root, what, "root::", "root:*")
    (failure,) = restore().failures
    assert "is no file that dbcpu changes" in failure
    assert "root:*'" not in failure
    assert text_of(root, "/etc/shadow") == "root:*"


@pytest.mark.parametrize(
    "path",
    [CONTROL, "/sys/devices/system/cpu/cpu17/online", "/proc/irq/33/smp_affinity_list",
     "/sys/fs/cgroup/cpuset/user@1000.service/docker-1f_2.scope/cpuset.cpus"],
)  # fmt: skip
def test_what_variants_change_is_known(path: str, tmp_path: Path) -> None:
    assert SettingAccess(LocalHost(tmp_path)).read(f"file:{path}") is None


@as_root
def test_nothing_is_changed_where_its_journal_could_not_be_trusted_later(folder: Path, root: Path) -> None:
    folder.mkdir(parents=True)
    os.chown(folder, NOBODY, NOBODY)
    journal = UndoJournal(LocalHost(root), SettingAccess(LocalHost(root)), None, "db")
    with pytest.raises(HostError, match=r"nothing was changed.*belongs to user"), journal:
        journal.apply([(f"file:{CONTROL}", "on")])
    assert text_of(root, CONTROL) == "off"


@as_root
def test_root_does_not_follow_an_inherited_state_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DBCPU_JOURNAL")
    monkeypatch.setenv("XDG_STATE_HOME", "/home/somebody/.local/state")
    assert _journal.folder() == _journal.ROOT_JOURNALS
