"""smt on trees that look like /sys: what it changes, notes, and puts back. This machine is never touched."""

import json
import os
import tempfile
from pathlib import Path

import pytest

from dbcpu.variants._restore import restore
from plugins.shell_kit import Kit
from support.paths import ROOT

CPUS = "sys/devices/system/cpu"
NOBODY = 65534


class Tree:
    """Two cores of two threads; ``control`` None: a kernel without smt/control."""

    def __init__(self, root: Path, control: str | None) -> None:
        self.root = root
        files = {"proc/sys/kernel/random/boot_id": "first-boot", f"{CPUS}/online": "0-3"}
        for cpu in range(4):
            files[f"{CPUS}/cpu{cpu}/topology/thread_siblings_list"] = f"{cpu % 2},{cpu % 2 + 2}"
            if cpu:
                files[f"{CPUS}/cpu{cpu}/online"] = "1"
        if control:
            files[f"{CPUS}/smt/control"] = control
        for name, text in files.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(f"{text}\n")

    def read(self, name: str) -> str:
        return (self.root / CPUS / name).read_text().strip()

    @property
    def online(self) -> str:
        return "".join(self.read(f"cpu{cpu}/online") for cpu in (1, 2, 3))


def smt(kit: Kit, tree: Tree, *arguments: str, user: int | None = None) -> tuple[int, str, str]:
    kit.environment["DBCPU_JOURNAL"] = str(tree.root / "journal")
    return kit.run("smt", "-r", str(tree.root), *arguments, user=user)


def test_by_its_control_and_back(kit: Kit, tmp_path: Path) -> None:
    tree = Tree(tmp_path / "root", "on")
    assert "second threads online: 2 3" in smt(kit, tree, "status")[1]
    assert smt(kit, tree, "off")[0] == 0
    assert (tree.read("smt/control"), tree.online) == ("off", "111")
    assert "smt/control: on -> off" in smt(kit, tree, "status")[1]
    assert smt(kit, tree, "off")[0] == 3
    code, out, _ = smt(kit, tree, "restore")
    assert (code, tree.read("smt/control")) == (0, "on")
    assert "put back: /sys/devices/system/cpu/smt/control is on again" in out
    assert list((tree.root / "journal").iterdir()) == []
    assert smt(kit, tree, "restore")[1] == "nothing was left changed\n"


@pytest.mark.parametrize("control", [None, "notsupported"])
def test_by_siblings_where_there_is_no_control(control: str | None, kit: Kit, tmp_path: Path) -> None:
    tree = Tree(tmp_path / "root", control)
    assert smt(kit, tree, "off")[0] == 0
    assert tree.online == "100"
    assert smt(kit, tree, "on")[0] == 0
    assert tree.online == "111"


def test_it_is_written_down_as_the_kit_does(one_kit: Kit, tmp_path: Path) -> None:
    tree = Tree(tmp_path / "root", None)
    smt(one_kit, tree, "off")
    (note,) = (tree.root / "journal").iterdir()
    assert note.suffix == ".held"
    header, *changes = (json.loads(line) for line in note.read_text().splitlines())
    assert (header["journal"], header["host"], header["boot_id"]) == (1, str(tree.root), "first-boot")
    assert changes == [
        {"change": number, "what": f"file:/{CPUS}/cpu{cpu}/online", "before": "1", "after": "0"}
        for number, cpu in enumerate((3, 2))
    ]
    # Half of it put back by somebody who reads the same journal.
    (tree.root / CPUS / "cpu2/online").write_text("1\n")
    with note.open("a") as file:
        file.write(json.dumps({"undone": 1}) + "\n")
    assert smt(one_kit, tree, "restore")[1].splitlines() == [f"put back: /{CPUS}/cpu3/online is 1 again"]


def test_dbcpu_restore_puts_it_back_and_other_commands_do_not(
    one_kit: Kit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = Tree(tmp_path / "root", "on")
    smt(one_kit, tree, "off")
    monkeypatch.setenv("DBCPU_JOURNAL", str(tree.root / "journal"))
    assert restore().lines == ()
    assert tree.read("smt/control") == "off"
    assert restore(held=True).lines == (f"put back: /{CPUS}/smt/control is on again",)
    assert tree.read("smt/control") == "on"
    assert list((tree.root / "journal").iterdir()) == []


def test_nothing_is_changed_on_trial(kit: Kit, tmp_path: Path) -> None:
    tree = Tree(tmp_path / "root", "on")
    assert smt(kit, tree, "-n", "off")[:2] == (0, f"/{CPUS}/smt/control: on -> off\n")
    assert tree.read("smt/control") == "on"
    assert not (tree.root / "journal").exists()


def test_without_root_it_refuses_and_changes_nothing(one_kit: Kit, tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("this machine's user is not root: there is nobody with less rights")
    if not all(folder.stat().st_mode & 0o001 for folder in ROOT.parents):
        pytest.skip("this clone lies where other users may not look: they cannot start its scripts")
    tree = Tree(tmp_path / "root", "on")
    for folder in (tmp_path, *tmp_path.parents):
        if folder == Path(tempfile.gettempdir()):
            break
        folder.chmod(0o755)
    code, _, err = smt(one_kit, tree, "off", user=NOBODY)
    assert code == 3
    assert "cannot be written; this needs root (sudo smt off), and not a container" in err
    assert tree.read("smt/control") == "on"


@pytest.mark.parametrize(
    ("control", "order", "sentence"),
    [
        ("off", "off", "SMT is off already (off)"),
        ("forceoff", "on", "it takes another start of the host"),
        ("on", "on", "SMT is on already (on), and no CPU is offline"),
    ],
)
def test_what_cannot_be(control: str, order: str, sentence: str, one_kit: Kit, tmp_path: Path) -> None:
    code, _, err = smt(one_kit, Tree(tmp_path / "root", control), order)
    assert code == 3
    assert sentence in err


def test_what_somebody_else_has_set_since_is_left(one_kit: Kit, tmp_path: Path) -> None:
    tree = Tree(tmp_path / "root", "on")
    smt(one_kit, tree, "off")
    (tree.root / CPUS / "smt/control").write_text("forceoff\n")
    code, _, err = smt(one_kit, tree, "restore")
    assert code == 0
    assert "somebody has set it since, it was on and is left so" in err
    assert tree.read("smt/control") == "forceoff"


def test_the_note_of_an_earlier_start_is_dropped(one_kit: Kit, tmp_path: Path) -> None:
    tree = Tree(tmp_path / "root", "on")
    smt(one_kit, tree, "off")
    (tree.root / "proc/sys/kernel/random/boot_id").write_text("second-boot\n")
    (tree.root / CPUS / "smt/control").write_text("on\n")
    code, _, err = smt(one_kit, tree, "restore")
    assert code == 0
    assert "the note of an earlier start of this host was dropped" in err


@pytest.mark.parametrize("how", ["TERM", "KILL"])
@pytest.mark.parametrize("program", ["sync", "mv"])
def test_ended_before_the_first_change(program: str, how: str, kit: Kit, tmp_path: Path) -> None:
    """The signal comes while the note is written (sync), or when it has got its name (mv)."""
    tree = Tree(tmp_path / "root", None)
    stub = kit.folder.parent / "bin" / program
    stub.write_text(f'#!/bin/sh\nPATH=${{PATH#*:}}\n{program} "$@"\nkill -{how} "$PPID"\n')
    stub.chmod(0o755)
    kit.environment["PATH"] = f"{stub.parent}{os.pathsep}{os.environ['PATH']}"
    if kit.shell.startswith("busybox"):
        pytest.skip("this machine's busybox has these programs built in")
    assert smt(kit, tree, "off")[0] != 0
    assert tree.online == "111"
    stub.unlink()
    assert smt(kit, tree, "restore")[0] == 0
    assert tree.online == "111"


def test_killed_between_two_changes(one_kit: Kit, tmp_path: Path) -> None:
    tree = Tree(tmp_path / "root", None)
    smt(one_kit, tree, "off")
    (tree.root / CPUS / "cpu2/online").write_text("1\n")  # the second had not been made yet
    assert smt(one_kit, tree, "restore")[1].splitlines() == [f"put back: /{CPUS}/cpu3/online is 1 again"]
    assert tree.online == "111"


def note(tree: Tree, what: str, before: str, after: str) -> Path:
    """As ``smt off`` writes it down, and somebody else may have."""
    place = tree.root / "journal"
    place.mkdir(mode=0o755)
    header = {"journal": 1, "host": str(tree.root), "boot_id": "first-boot", "target": "", "pid": 1}
    change = {"change": 0, "what": f"file:{what}", "before": before, "after": after}
    held = place / f"smt{str(tree.root).replace('/', '-').replace(' ', '-')}.held"
    held.write_text(f"{json.dumps(header)}\n{json.dumps(change)}\n")
    return held


def test_a_note_that_it_wrote_itself_is_obeyed(kit: Kit, tmp_path: Path) -> None:
    tree = Tree(tmp_path / "root", "off")
    note(tree, f"/{CPUS}/smt/control", "on", "off")
    assert smt(kit, tree, "restore")[0] == 0
    assert tree.read("smt/control") == "on"


@pytest.mark.parametrize("place", ["note", "folder"])
def test_a_note_that_others_may_write_is_refused(place: str, kit: Kit, tmp_path: Path) -> None:
    tree = Tree(tmp_path / "root", "off")
    held = note(tree, f"/{CPUS}/smt/control", "on", "off")
    (held if place == "note" else held.parent).chmod(0o777)
    for wanted in ("restore", "on", "status"):
        code, _, err = smt(kit, tree, wanted)
        assert (code, "can be written by others" in err) == (3, True)
    assert tree.read("smt/control") == "off"


@pytest.mark.skipif(os.geteuid() != 0, reason="this machine's user may not give files to somebody else")
@pytest.mark.parametrize("place", ["note", "folder"])
def test_a_note_of_somebody_else_is_refused(place: str, kit: Kit, tmp_path: Path) -> None:
    tree = Tree(tmp_path / "root", "off")
    held = note(tree, f"/{CPUS}/smt/control", "on", "off")
    os.chown(held if place == "note" else held.parent, NOBODY, NOBODY)
    code, _, err = smt(kit, tree, "restore")
    assert code == 3
    assert f"belongs to user {NOBODY}" in err
    assert tree.read("smt/control") == "off"


def test_a_link_where_the_note_is_to_be_made_is_not_followed(kit: Kit, tmp_path: Path) -> None:
    tree, victim = Tree(tmp_path / "root", "on"), tmp_path / "victim"
    victim.write_text("precious")
    journal = tree.root / "journal"
    journal.mkdir()
    (journal / f"smt{str(tree.root).replace('/', '-')}.held.new").symlink_to(victim)
    assert smt(kit, tree, "-n", "off")[0] == 0
    assert smt(kit, tree, "off")[0] == 0
    assert victim.read_text() == "precious"
    assert smt(kit, tree, "restore")[0] == 0
    journal.chmod(0o777)
    code, _, err = smt(kit, tree, "off")
    assert (code, tree.read("smt/control")) == (3, "on")
    assert "can be written by others" in err
    kit.environment["DBCPU_JOURNAL"] = str(journal / "deep" / "journal")
    code, _, err = kit.run("smt", "-r", str(tree.root), "off")
    assert (code, "can be written by others" in err, (journal / "deep").exists()) == (3, True, False)


def test_a_link_is_no_note(kit: Kit, tmp_path: Path) -> None:
    tree = Tree(tmp_path / "root", "off")
    held = note(tree, f"/{CPUS}/smt/control", "on", "off")
    held.rename(tmp_path / "elsewhere")
    held.symlink_to(tmp_path / "elsewhere")
    assert smt(kit, tree, "restore")[0] == 3
    assert tree.read("smt/control") == "off"


@pytest.mark.parametrize("what", ["/etc/shadow", f"/{CPUS}/cpu1/../../x/online", f"/{CPUS}/cpu*/online"])
def test_nothing_but_the_switches_of_smt_is_written(what: str, kit: Kit, tmp_path: Path) -> None:
    tree = Tree(tmp_path / "root", "off")
    victim = tree.root / what.lstrip("/").replace("cpu1/../..", "cpu").replace("*", "1")
    victim.parent.mkdir(parents=True, exist_ok=True)
    victim.write_text("mine\n")
    note(tree, what, "yours", "mine")
    code, _, err = smt(kit, tree, "restore")
    assert (code, "never changes" in err) == (3, True)
    assert victim.read_text() == "mine\n"
