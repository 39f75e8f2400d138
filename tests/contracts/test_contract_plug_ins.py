"""An installed package adds a target, a sampler and a format by entry points, without an edit of the tree."""

import json
import os
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from dbcpu import registry
from dbcpu.cli import main
from dbcpu.errors import PlugInError, UnknownName
from dbcpu.measure.samplers.base import best_sampler, equal_preferences, load_sampler, reasons_against
from dbcpu.targets.base import load_target
from support.paths import ROOT

PACKAGE = {
    "dbcpu_plugindb/__init__.py": "",
    "dbcpu_plugindb/target.py": """
        from dbcpu.config.request import Request
        from dbcpu.hosts.cleanup_guard import Guard
        from dbcpu.targets.base import Target
        from dbcpu.targets.sqlite import SqliteTarget

        class PluginTarget(SqliteTarget):
            kind = "plugindb"

        def open_target(request: Request, guard: Guard) -> Target:
            return PluginTarget()
        """,
    "dbcpu_plugindb/blocking.py": """
        import select

        from dbcpu.config.request import Request
        from dbcpu.hosts.cleanup_guard import Guard
        from dbcpu.targets.base import Target
        from dbcpu.targets.sqlite import SqliteSession, SqliteTarget

        class BlockingSession(SqliteSession):
            # Its driver has no descriptor to wait for: a start returns when all is done.
            def start(self, executions, until_s):
                sent_s = super().start(executions, until_s)
                while not super().finish():
                    select.select([self._commands], [], [])
                return sent_s

            def fileno(self):
                return None

            def finish(self):
                return True

        class BlockingTarget(SqliteTarget):
            kind = "blockingdb"

            def connect(self, ordinal, timeout_s):
                session = BlockingSession(ordinal, ":memory:", timeout_s)
                self._sessions.append(session)
                return session

        def open_target(request: Request, guard: Guard) -> Target:
            return BlockingTarget()
        """,
    "dbcpu_plugindb/sampler.py": """
        from dbcpu.measure.samplers.none import NoSampler, host_route

        PREFERENCE = 100

        def unavailable(host):
            return None

        def open_sampler(host, hz):
            return NoSampler()
        """,
    "dbcpu_plugindb/format.py": """
        SUFFIX, BINARY, IN_FOLDER = ".plug", False, True

        def render(document, pictures=None):
            return document.title
        """,
    "dbcpu_plugindb/spoilt.py": 'SUFFIX = ".plug"\n',
    "dbcpu_plugindb/number.py": """
        SUFFIX, BINARY, IN_FOLDER = ".number", False, True

        def render(document, pictures=None):
            return 17
        """,
    "dbcpu_plugindb/failing.py": """
        SUFFIX, BINARY, IN_FOLDER = ".failing", False, True

        def render(document, pictures=None):
            raise KeyError("a table that is not there")
        """,
    "dbcpu_plugindb/no_target.py": "def open_target(request, guard): return 3\n",
    "dbcpu_plugindb/no_arguments.py": "def open_target(): return 3\n",
    "dbcpu_plugindb/ends.py": "raise SystemExit(3)\n",
    "dbcpu_plugindb/empty.py": "",
    "dbcpu_plugindb/broken.py": "import a_driver_that_is_not_here\n",
}
ENTRY_POINTS = """
[dbcpu.targets]
plugindb = dbcpu_plugindb.target
blockingdb = dbcpu_plugindb.blocking
emptydb = dbcpu_plugindb.empty
brokendb = dbcpu_plugindb.broken
endsdb = dbcpu_plugindb.ends
numberdb = dbcpu_plugindb.no_target
argumentdb = dbcpu_plugindb.no_arguments
namedb = dbcpu_plugindb.target:open_target
sqlite = dbcpu_plugindb.target

[dbcpu.samplers]
plugin = dbcpu_plugindb.sampler

[dbcpu.formats]
plugin = dbcpu_plugindb.format
spoilt = dbcpu_plugindb.spoilt
number = dbcpu_plugindb.number
failing = dbcpu_plugindb.failing
"""


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A folder with the package as an installer leaves it: its files, and its metadata beside them."""
    folder = tmp_path / "site"
    for name, text in PACKAGE.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(textwrap.dedent(text), "utf-8")
    (folder / "dbcpu_plugindb/sql").mkdir()
    own = (ROOT / "sql/sqlite/cartesian.sql").read_text("utf-8")
    (folder / "dbcpu_plugindb/sql/cartesian.sql").write_text(own.replace("sql/sqlite", "sql/plugindb"), "utf-8")
    metadata = folder / "dbcpu_plugindb-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: dbcpu-plugindb\nVersion: 1.0\n", "utf-8")
    (metadata / "entry_points.txt").write_text(ENTRY_POINTS, "utf-8")
    return folder


@pytest.fixture
def installed(site: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The package on the path of this process."""
    monkeypatch.syspath_prepend(str(site))
    registry._plug_ins.cache_clear()
    yield
    registry._plug_ins.cache_clear()
    for name in [name for name in sys.modules if name.partition(".")[0] == "dbcpu_plugindb"]:
        del sys.modules[name]


def test_a_run_uses_the_target_and_the_sampler_of_an_installed_package(site: Path, tmp_path: Path) -> None:
    path = os.pathsep.join([str(site), *filter(None, [os.environ.get("PYTHONPATH"), str(ROOT / "kit")])])
    wanted = ["run", "plugindb", "--sessions", "1", "--repeats", "1", "--executions", "1", "--size", "tiny"]
    kept = ["--store", str(tmp_path / "runs.db"), "--out", str(tmp_path / "out"), "--json", str(tmp_path / "run.json")]
    done = subprocess.run(
        [sys.executable, "-m", "dbcpu", *wanted, *kept, "--yes", "--quiet"],
        env={**os.environ, "PYTHONPATH": path, "DBCPU_SETTLE_S": "0"},
        capture_output=True, text=True, cwd=tmp_path, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    record = json.loads((tmp_path / "run.json").read_text("utf-8"))
    assert record["database"]["kind"] == "plugindb"
    assert record["plan"]["sampler"] == "plugin", "it is preferred to every other"
    assert (tmp_path / "out" / "report.plug").read_text("utf-8").startswith("CPU consistency")
    for name in ("spoilt", "number"):
        said = f"format {name!r} of package dbcpu-plugindb 1.0 cannot be used"
        assert said in done.stderr, "the others are written"
    assert (
        "format 'failing' of package dbcpu-plugindb 1.0 failed (KeyError: 'a table that is not there')" in done.stderr
    )
    assert (tmp_path / "out" / "report.html").is_file()
    assert all(session["answer_ok"] for round_ in record["rounds"] for session in round_["sessions"])


def test_the_sessions_of_an_installed_target_are_held_to_the_contract_of_all(site: Path) -> None:
    """Also those of a driver that blocks; a target that cannot be opened is not passed over."""
    own = [str(site), str(ROOT / "kit"), str(ROOT / "tests")]
    path = os.pathsep.join([*own, *filter(None, [os.environ.get("PYTHONPATH")])])
    chosen = ["-k", "blockingdb or emptydb", "tests/contracts/test_contract_sessions.py"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-rA", "-p", "no:cacheprovider", "-p", "no:xdist", *chosen],
        env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, cwd=ROOT, check=False,
    )  # fmt: skip
    ends = [line.split() for line in done.stdout.splitlines() if line.startswith(("PASSED", "FAILED", "ERROR"))]
    tests = {(end, "blockingdb" in name) for end, name, *_ in ends}
    assert tests == {("PASSED", True), ("ERROR", False)}, done.stdout + done.stderr
    assert "no contract of behaviour holds the sessions of target 'emptydb'" in done.stdout


@pytest.mark.usefixtures("installed")
def test_names_of_installed_members_are_listed_and_known() -> None:
    for room, name in (("targets", "plugindb"), ("measure.samplers", "plugin"), ("reports.formats", "plugin")):
        assert name in registry.all_names(room)
        assert name not in registry.names(room)
        assert registry.is_known(room, name)
        assert registry.load(room, name).__name__.startswith("dbcpu_plugindb.")
    with pytest.raises(UnknownName, match=r"no target is called 'nodb'.*; there are: .*plugindb"):
        load_target("nodb")


@pytest.mark.usefixtures("installed")
def test_the_sampler_that_is_preferred_most_is_taken() -> None:
    assert load_sampler("plugin").PREFERENCE == 100
    assert best_sampler(None) == "plugin"
    assert equal_preferences() == ()


@pytest.mark.usefixtures("installed")
def test_samplers_that_are_preferred_alike_are_named_by_doctor(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sampler = site / "dbcpu_plugindb" / "sampler.py"
    sampler.write_text(sampler.read_text("utf-8").replace("PREFERENCE = 100", "PREFERENCE = 0"), "utf-8")
    assert best_sampler(None) == "none", "dbcpu's own is taken"
    assert main(["doctor", "sqlite"]) == 0
    assert "equal-preference: the samplers none and plugin have the same PREFERENCE, 0" in capsys.readouterr().out


@pytest.mark.usefixtures("installed")
def test_a_broken_sampler_has_no_preference(site: Path) -> None:
    entries = next(site.glob("*.dist-info")) / "entry_points.txt"
    entries.write_text(ENTRY_POINTS.replace("plugin = dbcpu_plugindb.sampler", "a = dbcpu_plugindb.broken"), "utf-8")
    registry._plug_ins.cache_clear()
    assert best_sampler(None) == "none"
    assert equal_preferences() == ()
    assert reasons_against(None)[-1].startswith("sampler 'a' of package dbcpu-plugindb 1.0 could not be imported")


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize(
    ("kind", "sentence"),
    [
        ("brokendb", "target 'brokendb' of package dbcpu-plugindb 1.0 could not be imported (ModuleNotFoundError: No"),
        ("emptydb", "target 'emptydb' of package dbcpu-plugindb 1.0 cannot be used: its module has to offer open_tar"),
        (
            "endsdb",
            "target 'endsdb' of package dbcpu-plugindb 1.0 could not be imported (SystemExit: 3); repair or un",
        ),
        (
            "numberdb",
            "target 'numberdb' of package dbcpu-plugindb 1.0 cannot be used: its module has to offer an open",
        ),
        (
            "argumentdb",
            "target 'argumentdb' of package dbcpu-plugindb 1.0 failed (TypeError: open_target() takes 0 po",
        ),
        ("namedb", "target 'namedb' of package dbcpu-plugindb 1.0 cannot be used: its entry point has to name a mod"),
    ],
)
def test_a_package_that_cannot_be_used_gives_one_sentence(
    kind: str, sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", kind, "--yes", "--quiet"]) == 3
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"dbcpu: {sentence}")


@pytest.mark.usefixtures("installed")
def test_a_format_that_was_wanted_and_fails_gives_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = ["--store", str(tmp_path / "runs.db")]
    assert main(["simulate", "--sessions", "1,2", "--repeats", "3", *store]) in {0, 1}
    capsys.readouterr()
    assert main(["show", "last", "--format", "failing", *store]) == 3
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("dbcpu: format 'failing' of package dbcpu-plugindb 1.0 failed (KeyError: 'a table")
    assert main(["report", "last", "--format", "number", "--out", str(tmp_path / "out"), *store]) == 3
    assert "format 'number' of package dbcpu-plugindb 1.0 cannot be used" in capsys.readouterr().err


@pytest.mark.usefixtures("installed")
def test_a_name_of_the_tree_wins_and_doctor_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert registry.load("targets", "sqlite").__name__ == "dbcpu.targets.sqlite"
    assert main(["doctor", "sqlite"]) == 0
    said = "target 'sqlite' of package dbcpu-plugindb 1.0 is not used: dbcpu has one of that name"
    assert f"plug-in-ignored: {said}" in capsys.readouterr().out


@pytest.mark.usefixtures("installed")
def test_two_packages_with_the_same_name_are_both_named(site: Path) -> None:
    other = site / "dbcpu_other-2.0.dist-info"
    other.mkdir()
    (other / "METADATA").write_text("Metadata-Version: 2.1\nName: dbcpu-other\nVersion: 2.0\n", "utf-8")
    (other / "entry_points.txt").write_text("[dbcpu.targets]\nplugindb = dbcpu_plugindb.target\n", "utf-8")
    registry._plug_ins.cache_clear()
    both = "package dbcpu-other 2.0 and package dbcpu-plugindb 1.0"
    with pytest.raises(PlugInError, match=f"target 'plugindb' is offered by {both}; uninstall one of them"):
        load_target("plugindb")
    assert f"target 'plugindb' is not used: {both} both offer it" in registry.clashes()


def test_help_and_members_of_the_tree_look_for_no_packages() -> None:
    script = (
        "import sys\n"
        "from dbcpu.cli import main\n"
        "from dbcpu.targets.base import load_target\n"
        "assert main(['--help']) == 0 and main(['run', '--help']) == 0\n"
        "load_target('sqlite')\n"
        "from dbcpu import registry\n"
        "assert registry._plug_ins.cache_info().misses == 0\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
