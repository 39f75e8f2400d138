"""What a user mistypes is called so in one sentence with exit code 2 or 3, never an error of dbcpu's own."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from sqlalchemy import update

from dbcpu.cli import main
from dbcpu.errors import UsageError
from dbcpu.formatting import parse_cpu_list
from dbcpu.record.plan import parse_levels
from dbcpu.store import schema
from dbcpu.store.database import open_store
from dbcpu.store.engine import locate, open_engine
from dbcpu.store.schema.upgrade import _version_table
from plugins import runs
from support.forms import TEXT_FORMS

LONG, DIGITS = "x" * 300, "9" * 5000
UNICODE_NEEDED = os.fsdecode(b"caf\xe9")


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """With one run in it; the working folder is empty."""
    place = str(tmp_path / "runs.db")
    with open_store(place) as opened:
        opened.save(runs.record())
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    monkeypatch.setenv("DBCPU_STORE", place)
    return place


@pytest.fixture
def closed(store: str, owner_rights: None) -> None:
    """A folder that may not be entered."""
    Path("closed").mkdir()
    Path("closed").chmod(0)


@pytest.mark.parametrize(
    "command",
    [
        ("show", f"{LONG}.json"), ("show", LONG), ("list", "--store", LONG), ("export", "last", f"{LONG}.json"),
        ("compare", LONG, "last"), ("compare", f"{LONG}.csv"), ("import", LONG), ("topology", "--host", LONG),
        ("show", UNICODE_NEEDED), ("list", "--target", UNICODE_NEEDED), ("check", "--last", "--target", UNICODE_NEEDED),
        ("list", "--limit", str(10**22)), ("run", "sqlite", "--sessions", DIGITS),
        ("run", "sqlite", "sqlite", "--together", "--cpus", DIGITS, "--cpus", "1"),
        ("run", "sqlite", "sqlite", "--together", "--sessions", DIGITS), ("report", "last", "--round", DIGITS),
        ("report", "last", "--round", f"1:{DIGITS}"), ("compare", "last", "last", "--vcpus", DIGITS),
        ("run", f"oracle://u@h/?service_name=s&sdu={DIGITS}"),
        ("simulate", "--variants", f"memory:000000000{DIGITS}"), ("simulate", "--variants", f"ncpus:000000001{DIGITS}"),
        ("vary", "sqlite", "--variants", f"cpus:{DIGITS}"), ("vary", "sqlite", "--variants", f"ncpus:{DIGITS}"),
        ("doctor", "postgresql://h/d?sslmde=require", "--host", "none"), ("list", "--history", "--out", "/dev/null/x"),
    ],
    ids=lambda command: " ".join(command)[:50],
)  # fmt: skip
def test_it_is_said_in_one_sentence(store: str, capsys: pytest.CaptureFixture[str], command: tuple[str, ...]) -> None:
    assert main(command) in (2, 3)
    said = capsys.readouterr().err
    assert said
    assert "internal error" not in said


@pytest.mark.parametrize(
    ("command", "code", "said"),
    [
        (("list", "--store", "closed/x.db"), 3, "the store closed/x.db cannot be opened: Permission denied"),
        (("show", "last", "--store", "closed/sub/x.db"), 3, "the store closed/sub/x.db cannot be opened: Permission"),
        (("run", "sqlite", "--store", "sqlite:///closed/x.db", "-y"), 3, "the store closed/x.db cannot be opened"),
        (("compare", "closed/a.csv", "closed/b.csv"), 3, "closed/a.csv could not be read: Permission denied"),
        (("compare", "closed/a.json", "b=closed/b.json"), 3, "closed/a.json could not be read: Permission denied"),
        (("run", "sqlite:///closed/db", "-y"), 3, "SQLite database closed/db could not be opened: Permission denied"),
        (("topology", "--host", "closed/host"), 3, "recorded host closed/host could not be read: Permission denied"),
    ],
    ids=lambda value: " ".join(value).replace("/", " ") if isinstance(value, tuple) else "",
)  # fmt: skip
def test_a_folder_that_may_not_be_entered_is_a_sentence(
    store: str, closed: None, capsys: pytest.CaptureFixture[str], command: tuple[str, ...], code: int, said: str
) -> None:
    assert main(command) == code
    output = capsys.readouterr().err
    assert said in output
    assert "internal error" not in output


def test_a_configuration_file_that_may_not_be_looked_at(
    store: str, closed: None, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DBCPU_CONFIG", "closed/dbcpu.toml")
    assert main(["run", "sqlite", "--dry-run"]) == 2
    assert "DBCPU_CONFIG names closed/dbcpu.toml: Permission denied on the way to it" in capsys.readouterr().err
    monkeypatch.delenv("DBCPU_CONFIG")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(Path("closed").absolute()))
    assert main(["run", "sqlite", "--dry-run"]) == 0, "nobody named it: sudo leaves a HOME of somebody else"


@pytest.mark.parametrize("option", [("--json", "/proc/run.json"), ("--out", "/proc/a/b"), ("--log-file", "/proc/log")])
def test_where_the_kernel_shows_files_none_is_written(
    store: str, capsys: pytest.CaptureFixture[str], option: tuple[str, str]
) -> None:
    """Said before a measurement, of which nothing would be kept there; a dry run measures nothing."""
    assert main(["run", "sqlite", "--dry-run", *option]) == 2
    said = capsys.readouterr().err
    assert "no file can be made in /proc" in said


def test_an_unknown_parameter_of_libpq_is_named(store: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "postgresql://h/d?sslmde=require", "--host", "none"]) == 2
    assert 'invalid connection option "sslmde"' in capsys.readouterr().err


@pytest.mark.parametrize("digits", ["\N{FULLWIDTH DIGIT ONE}", "1-\N{FULLWIDTH DIGIT TWO}"])
def test_digits_of_another_script_are_no_level(digits: str) -> None:
    with pytest.raises(UsageError, match="is no number or range"):
        parse_levels(digits, 4)


@pytest.mark.parametrize("number", [DIGITS, f"0-{DIGITS}", f"{DIGITS}-1"])
def test_thousands_of_digits_are_no_number(number: str) -> None:
    with pytest.raises(UsageError, match="is not understood at"):
        parse_cpu_list(number)
    with pytest.raises(UsageError, match="is no number or range"):
        parse_levels(number, 4)


def test_a_published_count_of_thousands_of_digits_is_none(store: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("x.csv").write_text(f"label,configuration,n,metric,value\na,b,{DIGITS},TPS,1\n")
    assert main(["compare", "x.csv"]) == 2
    assert "is not a whole number from 1 on" in capsys.readouterr().err


@pytest.mark.parametrize("value", ["1e308", "1e-308", "inf", "nan", "0"])
def test_a_published_value_whose_ratios_overflow_is_refused(
    store: str, capsys: pytest.CaptureFixture[str], value: str
) -> None:
    Path("x.csv").write_text(f"label,configuration,n,metric,value\na,b,1,TPS,{value}\na,c,1,TPS,1\n")
    assert main(["compare", "x.csv", "--format", "json"]) == 2
    assert "is not a number above 0, from 1e-100 to 1e+100" in capsys.readouterr().err


@pytest.mark.parametrize("closed", ["stdout", "stderr"])
def test_a_stream_that_is_closed_is_no_crash(store: str, closed: str) -> None:
    redirect = {"stdout": ">&-", "stderr": "2>&-"}[closed]
    done = subprocess.run(
        ["/bin/sh", "-c", f'exec "$0" -m dbcpu show last {redirect}', sys.executable],
        capture_output=True, text=True, env=runs.environment(PYTHONPATH=":".join(sys.path)), check=False,
    )  # fmt: skip
    assert done.returncode == {"stdout": 3, "stderr": 0}[closed]
    assert "internal error" not in done.stderr


@pytest.mark.parametrize("place", ["/dev/null", "fifo"])
@pytest.mark.parametrize("command", [("list",), ("simulate", "--sessions", "1")], ids=" ".join)
def test_a_store_that_is_no_file_is_called_so(
    store: str, capsys: pytest.CaptureFixture[str], place: str, command: tuple[str, ...]
) -> None:
    os.mkfifo("fifo")
    assert main([*command, "--store", place]) == 3
    assert capsys.readouterr().err == (
        f"dbcpu: the store {place} is a FIFO or a device, which keeps nothing; give a file\n"
    )


@pytest.mark.skipif(os.geteuid() != 0, reason="this machine's user may not give files to somebody else")
@pytest.mark.parametrize(
    "command",
    [
        ("export", "last", "theirs.json"), ("export", "last", "theirs.json", "--force"),
        ("simulate", "--json", "theirs.json"), ("run", "sqlite", "--log-file", "theirs.json"),
        ("run", "sqlite", "--json", "theirs.json"), ("list", "--store", "theirs.json"),
    ],
    ids=" ".join,
)  # fmt: skip
def test_a_fifo_of_another_user_is_refused_at_once(
    store: str, capsys: pytest.CaptureFixture[str], command: tuple[str, ...]
) -> None:
    os.mkfifo("theirs.json")
    os.chown("theirs.json", 65534, 65534)
    reader = os.open("theirs.json", os.O_RDONLY | os.O_NONBLOCK)  # without it, a fault would wait for ever
    try:
        assert main([*command]) == 3
        assert os.read(reader, 1) == b""
    finally:
        os.close(reader)
    out, err = capsys.readouterr()
    assert out == ""
    assert "theirs.json belongs to user " in err


def test_a_record_goes_through_an_own_fifo_and_into_a_command(store: str, tmp_path: Path) -> None:
    done = subprocess.run(
        ["bash", "-c", '"$0" -m dbcpu export last >(cat >a.json) && "$0" -m dbcpu export last /dev/stdout | cat >b.json'
         '; "$0" -m dbcpu export last /dev/stdout >c.json; "$0" -m dbcpu export last d.json; wait $!', sys.executable],
        capture_output=True, text=True, env=runs.environment(PYTHONPATH=":".join(sys.path)), check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert {Path(f"{name}.json").read_text() for name in "abcd"} == {Path("d.json").read_text()}


def test_a_store_of_a_schema_that_nobody_knows_is_refused(store: str, capsys: pytest.CaptureFixture[str]) -> None:
    with open_engine(locate(store)).begin() as connection:
        connection.execute(update(_version_table).values(version_num="0000"))
    assert main(["list"]) == 3
    assert f"has schema '0000', from which no way leads to {schema.HEAD}" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("x = " + "[" * 5000, "not valid TOML"),
        (f"x = {DIGITS}", "not valid TOML"),
        ("a." * 20_000 + "a = 1", "more than 200 dots in a line"),
        ("#" * 70_000, "larger than 64 KiB"),
    ],
)
def test_a_configuration_that_would_fill_the_memory_is_refused(
    store: str, capsys: pytest.CaptureFixture[str], text: str, reason: str
) -> None:
    Path("dbcpu.toml").write_text(text)
    assert main(["check", "last"]) == 2
    assert reason in capsys.readouterr().err


@pytest.mark.parametrize("where", ["/proc", "/sys", "/proc/1", "/sys/devices/system"])
def test_the_running_machine_is_no_recording(store: str, capsys: pytest.CaptureFixture[str], where: str) -> None:
    assert main(["topology", "--host", where]) == 3
    assert "is of this running machine, not a recording" in capsys.readouterr().err


def test_text_that_is_not_unicode_is_shown(store: str, capsys: pytest.CaptureFixture[str]) -> None:
    with open_store(store) as opened:
        opened.save(runs.record("with-odd-label", label="caf\udce9 \ud800"))
    for form in TEXT_FORMS:
        assert main(["show", "with-odd-label", "--format", form]) == 0
    assert main(["list"]) == 0
    assert "internal error" not in capsys.readouterr().err


WITH_PASSWORD = "postgresql://u:S3CRET/@w@h/x"


@pytest.mark.parametrize(
    "command",
    [
        ("show", WITH_PASSWORD), ("show", WITH_PASSWORD, "--history"), ("report", WITH_PASSWORD),
        ("check", WITH_PASSWORD), ("export", WITH_PASSWORD, "run.json"), ("export", WITH_PASSWORD, "--csv", "tables"),
        ("more", WITH_PASSWORD),
        ("compare", WITH_PASSWORD, "last"), ("compare", "last", f"last,{WITH_PASSWORD}"),
        ("compare", "last", "last", "--aa", WITH_PASSWORD), ("delete", WITH_PASSWORD, "--yes"),
        ("delete", "--like", WITH_PASSWORD, "--yes"), ("show", f"{WITH_PASSWORD}.json"),
    ],
    ids=lambda command: " ".join(command).replace("/", " "),
)  # fmt: skip
def test_a_url_is_no_run(store: str, capsys: pytest.CaptureFixture[str], command: tuple[str, ...]) -> None:
    assert main(command) == 2
    said = capsys.readouterr().err
    assert "a run was expected, and not postgresql://***; give the store by --store URL" in said
    assert "CRET" not in said


@pytest.mark.parametrize(
    "command", [("simulate", "this-vm"), ("run", "sqlite"), ("soak", "sqlite"), ("import", "times.csv")]
)
def test_a_label_holds_no_password(command: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    assert main((*command, "--label", f"before {WITH_PASSWORD}")) == 2
    said = capsys.readouterr().err
    assert "it holds a password, and a label is stored and shown with the run" in said
    assert "CRET" not in said


@pytest.mark.parametrize(
    "command",
    [
        ("import", WITH_PASSWORD), ("export", "last", WITH_PASSWORD), ("topology", WITH_PASSWORD),
        ("simulate", WITH_PASSWORD), ("topology", "--host", WITH_PASSWORD),
        ("compare", f"label:{WITH_PASSWORD}", "last"),
    ],
    ids=lambda command: " ".join(command).replace("/", " "),
)  # fmt: skip
def test_a_password_is_not_repeated(store: str, capsys: pytest.CaptureFixture[str], command: tuple[str, ...]) -> None:
    """Where a URL was given in place of a file, a name or by mistake."""
    assert main(command) in (2, 3)
    said = capsys.readouterr().err
    assert "u:***@h" in said
    assert "CRET" not in said


def test_a_port_that_is_none_is_no_other_port(store: str, capsys: pytest.CaptureFixture[str]) -> None:
    """libpq takes its default for it: the logon went to a server that nobody had named."""
    assert main(["doctor", "postgresql://me@127.0.0.1:0/x"]) == 2
    assert "the port of the target URL is 0; give one from 1 to 65535" in capsys.readouterr().err


def test_an_unknown_kind_of_database_in_an_inventory_is_told(
    store: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "fleet.csv").write_text("name,url\na,mysql://h/x\n")
    assert main(["fleet", "run", str(tmp_path / "fleet.csv"), "--campaign", "c", "--dry-run"]) == 2
    assert "a: no kind of database is called 'mysql'; there are: embedded" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("place", "warned"),
    [
        ("postgresql://me:hush@127.0.0.1:1/x", True),
        ("postgresql://me@127.0.0.1:1/x?password=hush", True),
        ("postgresql://me@127.0.0.1:1/x", False),
        ("my@runs.db", False),
    ],
)
def test_a_password_in_the_address_of_a_store_is_warned_of(
    store: str, capsys: pytest.CaptureFixture[str], place: str, warned: bool
) -> None:
    main(["list", "--store", place])
    said = capsys.readouterr().err
    assert ("the password in --store is visible in the process list" in said) is warned
    assert "hush" not in said


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--active", "abc"), "--active 'abc': 'abc' is no number or range"),
        (("--block-for", "2s"), "--block-for needs --blocking; give the number of jobs that wait"),
    ],
)
def test_a_pool_has_options_of_its_own_name(
    store: str, capsys: pytest.CaptureFixture[str], options: tuple[str, ...], said: str
) -> None:
    assert main(["pool", "sqlite", *options, "--yes"]) == 2
    assert said in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (("soak", "sqlite", "--sizes", "tiny", "--size", "short"), "--size and --sizes cannot be combined"),
        (("soak", "sqlite", "--for", "1"), "--for 1s is too short for a segment of 2 s"),
        (("soak", "sqlite", "--sizes", "tiny,short", "--for", "3"), "for each size; give --for 4s or more"),
        (("compare", "last", "last", "--baseline", "x"), "--baseline is for published measurements"),
        (("vary", "sqlite", "--variants", "cpus:0,cpus:1", "--per-cpu", "2", "--sessions", "4"),
         "--per-cpu and --sessions cannot be combined"),
        (("fleet", "report", "q4", "--with", "q4"), "campaign q4 is named twice"),
        (("fleet", "report", "q4", "--with", "q3", "--with", "q3"), "campaign q3 is named twice"),
        (("simulate", "--for", "30d", "--sessions", "1", "--repeats", "1"), "give a shorter time (--for, --soak)"),
    ],
)  # fmt: skip
def test_an_option_that_would_do_nothing_is_refused(
    store: str, capsys: pytest.CaptureFixture[str], command: tuple[str, ...], said: str
) -> None:
    assert main(command) == 2
    assert said in " ".join(capsys.readouterr().err.split())
