"""Targets by name, URL or kind; secrets by reference only."""

import io
import os
from pathlib import Path

import pytest

from dbcpu.config import targets
from dbcpu.errors import DbcpuError, UnknownName, UsageError

NOBODY = 65534
SECRET = "s3cr:et/?"


@pytest.fixture(autouse=True)
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working folder and an empty XDG folder; returns the folder that holds both."""
    (tmp_path / "here").mkdir()
    (tmp_path / "xdg" / "dbcpu").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "xdg"))
    monkeypatch.delenv("DBCPU_CONFIG", raising=False)
    return tmp_path


def write(places: Path, text: str, where: str = "here/dbcpu.toml") -> Path:
    file = places / where
    file.write_text(text, "utf-8")
    return file


def no_warning(sentence: str) -> None:
    raise AssertionError(sentence)


@pytest.mark.parametrize("kind", ["folder", "FIFO", "link that leads nowhere"])
def test_what_is_no_file_is_left_out_and_said(places: Path, kind: str) -> None:
    """A FIFO is not opened: nobody writes into it."""
    place = places / "here/dbcpu.toml"
    if kind == "folder":
        place.mkdir()
    elif kind == "FIFO":
        os.mkfifo(place)
    else:
        place.symlink_to("nowhere")
    write(places, '[targets.a]\nurl = "sqlite:///a"\n', "xdg/dbcpu/dbcpu.toml")
    said: list[str] = []
    ((file, _),) = targets.contents(said.append)
    assert file == places / "xdg/dbcpu/dbcpu.toml"
    assert said == [f"{place} is no file, so it is not used; remove it"]


def test_a_byte_order_mark_is_no_part_of_the_file(places: Path) -> None:
    write(places, '\ufeff[targets.a]\nurl = "sqlite:///a"\n')
    assert targets.resolve("a", no_warning).url == "sqlite:///a"


def test_a_kind_needs_no_url() -> None:
    request = targets.resolve("sqlite", no_warning)
    assert (request.name, request.kind, request.url, request.password) == ("sqlite", "sqlite", "", None)


@pytest.mark.parametrize("url", ["sqlite://", "sqlite:///some where/x.db", "sqlite+pysqlite:///x.db"])
def test_the_kind_of_a_url_is_its_backend(url: str) -> None:
    request = targets.resolve(url, no_warning)
    assert (request.kind, request.url) == ("sqlite", url)


def test_an_unknown_target_lists_configured_ones_and_kinds(places: Path) -> None:
    write(places, '[targets.old-box]\nurl = "sqlite://"\n')
    with pytest.raises(UnknownName, match=r"called 'oldbox' .did you mean 'old-box'.*; there are: .*old-box.*sqlite"):
        targets.resolve("oldbox")


def test_an_unknown_kind_in_a_url_lists_kinds() -> None:
    with pytest.raises(UnknownName, match=r"no kind of database is called 'mysql'; there are: .*sqlite"):
        targets.resolve("mysql://localhost/x")


@pytest.mark.parametrize("port", [0, 65_536, 5_499_111])
def test_a_port_that_no_server_has_is_wrong_usage(port: int) -> None:
    with pytest.raises(UsageError, match=f"the port of the target URL is {port}; give one from 1 to 65535"):
        targets.resolve(f"postgresql://u@h:{port}/d")


@pytest.mark.parametrize(
    "url",
    [
        "sqlite://u:s3cr:et/?@h/d?timeout=1",
        "sqlite://u@h/d?password=s3cr:et/?&timeout=1",
        "sqlite://u@h/d?timeout=1&PassWord=s3cr:et/?",
    ],
    ids=["user", "query", "upper case"],
)
def test_a_password_is_taken_out_of_a_url_and_warned_about(url: str) -> None:
    warnings: list[str] = []
    request = targets.resolve(url, warnings.append)
    assert request.password == SECRET
    assert request.url == "sqlite://u@h/d?timeout=1"
    assert request.name == request.url
    assert SECRET not in repr(request)
    assert len(warnings) == 1
    assert "process list" in warnings[0]
    assert SECRET not in warnings[0]


@pytest.mark.parametrize("url", ["sqlite://u:pa@s3cret@host/d", "://", "sqlite://h:port/d", "1://"])
def test_a_url_that_is_not_understood_is_not_repeated(url: str) -> None:
    with pytest.raises(UsageError) as caught:
        targets.resolve(url)
    assert "s3cret" not in str(caught.value)


def test_a_secret_other_than_the_password_is_refused_in_a_url() -> None:
    with pytest.raises(UsageError, match="sslpassword") as caught:
        targets.resolve("sqlite://h/d?sslpassword=hush")
    assert "hush" not in str(caught.value)


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://u:hush@h:5432/d", "postgresql://u:***@h:5432/d"),
        ("postgresql://u@h/d?password=hush&application_name=x", "postgresql://u@h/d?application_name=x&password=***"),
        ("postgresql://h/d?sslpassword=hush", "postgresql://h/d?sslpassword=***"),
        ("postgresql://u:a@hush@h/d", "postgresql://***"),
        ("postgresql:///d", "postgresql:///d"),
        ("hush", "***"),
    ],
)
def test_safe_url_hides_every_secret(url: str, shown: str) -> None:
    assert targets.safe_url(url) == shown


def test_settings_of_the_server_reach_it_and_are_shown_nowhere() -> None:
    request = targets.resolve("postgresql://h/d?options=-c%20a.key=hush&connect_timeout=3", no_warning)
    assert request.url == "postgresql://h/d?connect_timeout=3&options=-c+a.key%3Dhush"
    assert request.name == "postgresql://h/d?connect_timeout=3&options=***"


@pytest.mark.parametrize(
    "url",
    ["sqlite:////home/a@b/c.db", "shell:///opt/a@b/sh", "postgresql://h/a%40b", "postgresql://a%2Fb@h/d",
     "oracle://h/x?service_name=a", "postgresql:///d?host=/tmp"],
)  # fmt: skip
def test_a_url_without_a_password_is_no_logon(url: str) -> None:
    assert targets.resolve(url, no_warning).password is None


@pytest.mark.parametrize("url", ["postgresql://me:leak@hush/77@h/d", "postgresql://me:leak@hush@h/d"])
def test_the_rest_of_a_password_is_no_name_of_a_host(url: str) -> None:
    with pytest.raises(UsageError, match="write @ as %40 and / as %2F") as refused:
        targets.resolve(url, no_warning)
    assert "hush" not in str(refused.value)


def test_the_working_folder_wins_over_the_users_file_target_by_target(places: Path) -> None:
    write(places, '[targets.a]\nurl="sqlite:///xdg-a"\n[targets.b]\nurl="sqlite:///xdg-b"\n', "xdg/dbcpu/dbcpu.toml")
    write(places, '[targets.a]\nurl = "sqlite:///here-a"\n')
    warnings: list[str] = []
    assert targets.resolve("a", warnings.append).url == "sqlite:///here-a"
    assert warnings == [
        f"a is the target in {places}/here/dbcpu.toml, which replaces that in {places}/xdg/dbcpu/dbcpu.toml"
    ]
    assert targets.resolve("b", no_warning).url == "sqlite:///xdg-b"


def test_the_same_target_in_both_files_is_no_news(places: Path) -> None:
    for where in ("xdg/dbcpu/dbcpu.toml", "here/dbcpu.toml"):
        write(places, '[targets.a]\nurl="sqlite:///a"\n', where)
    assert targets.resolve("a", no_warning).url == "sqlite:///a"


def give_to_nobody(place: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("this machine's user may not give files to another user")
    os.chown(place, NOBODY, NOBODY, follow_symlinks=False)


@pytest.mark.parametrize("level", [0, 1], ids=["file", "folder"])
@pytest.mark.parametrize("text", ['[targets.old-box]\nurl = "shell:////evil.sh"\n', "broken ["], ids=["evil", "broken"])
def test_a_file_of_another_user_is_left_out_and_said(
    level: int, text: str, places: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(places, '[targets.old-box]\nurl = "sqlite:///mine"\n', "xdg/dbcpu/dbcpu.toml")
    file = write(places, text)
    place = [file, file.parent][level]
    give_to_nobody(place)
    assert targets.resolve("old-box", no_warning).url == "sqlite:///mine"
    said = capsys.readouterr().err
    assert said.startswith(f"dbcpu: {place} belongs to user ")
    assert said.endswith(f"; if you trust it: DBCPU_CONFIG={file}\n")


def test_a_file_that_others_can_write_is_left_out(places: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = write(places, '[targets.a]\nurl = "sqlite://"\n', "xdg/dbcpu/dbcpu.toml")
    file.chmod(0o666)
    assert targets.targets() == {}
    assert f"{file} can be written by others" in capsys.readouterr().err


def test_a_link_of_another_user_to_an_own_file_is_not_followed(places: Path) -> None:
    own = write(places, '[targets.a]\nurl = "sqlite://"\n', "other.toml")
    link = places / "here" / "dbcpu.toml"
    link.symlink_to(own)
    assert list(targets.targets()) == ["a"]
    give_to_nobody(link)
    assert targets.targets() == {}


def test_a_named_file_is_read_whoever_owns_it(places: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = write(places, '[targets.a]\nurl = "sqlite://"\n', "other.toml")
    give_to_nobody(file)
    monkeypatch.setenv("DBCPU_CONFIG", str(file))
    assert list(targets.targets()) == ["a"]


def test_dbcpu_config_is_read_instead(places: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(places, '[targets.a]\nurl = "sqlite:///here"\n')
    monkeypatch.setenv("DBCPU_CONFIG", str(write(places, '[targets.only]\nurl = "sqlite"\n', "other.toml")))
    assert list(targets.targets()) == ["only"]
    assert targets.resolve("only").url == ""
    monkeypatch.setenv("DBCPU_CONFIG", str(places / "gone.toml"))
    with pytest.raises(UsageError, match=r"DBCPU_CONFIG names .*gone\.toml"):
        targets.resolve("only")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('[targets.x]\nurl = "sqlite://"\nport = "1"', r"\[targets\.x\]: unknown key 'port'; allowed: url,.* password"),
        ("[target.x]\n", r"unknown key 'target'; allowed: targets"),
        ("targets = 3", "targets is not a table"),
        ("[targets]\nx = 3", r"\[targets\.x\] is not a table"),
        ("[targets.x]\n", r"\[targets\.x\] has no url"),
        ("[targets.x]\nurl = 3", "url is not text"),
        ('[targets.x]\nurl = "mysql://h"', "no kind of database is called 'mysql'"),
        ('[targets.x]\nurl = "nonsense"', "no kind of database is called 'nonsense'"),
        ('[targets.x]\nurl = "sqlite://"\npassword = "hush"', 'holds a password.*use password_env = "VARIABLE"'),
        ('[targets.x]\nurl = "sqlite://u:hush@h/d"', "url holds a password.*use password_env"),
        ('[targets.x]\nurl = "sqlite://"\npassword_env = "A"\npassword_file = "b"', "password_env and password_file"),
        ('[targets.x]\nurl = "sqlite://"\npassword_env = "DBCPU_NOT_SET"', "environment has no DBCPU_NOT_SET"),
        ('[targets.x]\nurl = "sqlite://"\npassword_file = "gone"', "gone could not be read: No such file"),
        ('[targets.x]\nurl = "sqlite://"\npassword = "prompt"', "standard input is no terminal"),
        ('[targets.x]\nurl = "hush\n', r"dbcpu\.toml is not valid TOML: .*line 2"),
    ],
)
def test_what_is_wrong_in_a_file_is_said_with_the_file_and_without_secrets(
    places: Path, monkeypatch: pytest.MonkeyPatch, text: str, says: str
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO())
    write(places, text)
    with pytest.raises(DbcpuError, match=says) as caught:
        targets.resolve("x")
    assert "hush" not in str(caught.value)


def test_a_target_does_not_take_the_name_of_a_kind(places: Path) -> None:
    write(places, '[targets.sqlite]\nurl = "sqlite://"')
    with pytest.raises(UsageError, match=r"\[targets\.sqlite\]: 'sqlite' is a kind of database already"):
        targets.resolve("sqlite")


def test_a_file_that_is_not_utf8_is_named(places: Path) -> None:
    (places / "here" / "dbcpu.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(UsageError, match=r"dbcpu\.toml is not UTF-8"):
        targets.targets()


def test_a_password_comes_from_the_environment(places: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(places, '[targets.x]\nurl = "sqlite://u@h/d"\npassword_env = "BOX_PASSWORD"\n')
    monkeypatch.setenv("BOX_PASSWORD", SECRET)
    request = targets.resolve("x", no_warning)
    assert (request.name, request.url, request.password) == ("x", "sqlite://u@h/d", SECRET)
    assert SECRET not in repr(request)


def test_a_password_file_is_found_beside_the_configuration_and_kept_private(places: Path) -> None:
    write(places, '[targets.x]\nurl = "sqlite://u@h/d"\npassword_file = "pass"\n', "xdg/dbcpu/dbcpu.toml")
    file = write(places, f"{SECRET}\n", "xdg/dbcpu/pass")
    file.chmod(0o600)
    assert targets.resolve("x").password == SECRET
    file.chmod(0o640)
    with pytest.raises(UsageError, match=r"can be read by others \(mode 0640\); chmod 600"):
        targets.resolve("x")


def test_a_password_file_of_another_user_is_refused(places: Path) -> None:
    write(places, '[targets.x]\nurl = "sqlite://u@h/d"\npassword_file = "pass"\n')
    file = write(places, f"{SECRET}\n", "here/pass")
    file.chmod(0o600)
    give_to_nobody(file)
    with pytest.raises(UsageError, match=rf"\[targets\.x\]: password_file {file} belongs to user ") as caught:
        targets.resolve("x")
    assert SECRET not in str(caught.value)


def test_a_link_of_another_user_to_an_own_password_file_is_refused(places: Path) -> None:
    """It would have the first line of any file of the user's sent to a server."""
    write(places, '[targets.x]\nurl = "sqlite://u@h/d"\npassword_file = "link"\n')
    write(places, f"{SECRET}\n", "xdg/key").chmod(0o600)
    (places / "here" / "link").symlink_to(places / "xdg" / "key")
    assert targets.resolve("x").password == SECRET
    give_to_nobody(places / "here" / "link")
    with pytest.raises(UsageError, match=r"password_file .*/link belongs to user "):
        targets.resolve("x")


@pytest.mark.parametrize("name", ["~no-such-user-here/pass", "a\\u0000b"])
def test_a_password_file_that_is_no_path_is_refused(places: Path, name: str) -> None:
    write(places, f'[targets.x]\nurl = "sqlite://u@h/d"\npassword_file = "{name}"\n')
    with pytest.raises(UsageError, match=r"\[targets\.x\]: password_file '.*' is no path: "):
        targets.resolve("x")


FAULTY = '[targets.good]\nurl = "sqlite://"\n[targets.bad]\nport = 3\n'


def test_a_faulty_target_refuses_itself_and_no_other(places: Path) -> None:
    file, said = write(places, FAULTY), list[str]()
    assert targets.resolve("good", said.append).url == "sqlite://"
    assert targets.resolve("sqlite", said.append).kind == "sqlite"
    fault = f"{file}, [targets.bad]: unknown key 'port'; allowed: {', '.join(targets.TARGET_KEYS)}"
    assert said == [f"{fault}; other targets can be used"] * 2
    assert list(targets.targets()) == ["good"]
    with pytest.raises(UsageError) as caught:
        targets.resolve("bad", no_warning)
    assert str(caught.value) == fault
    with pytest.raises(UnknownName, match=r"there are: .*bad.*good"):
        targets.resolve("other")


def test_the_last_file_decides_whether_a_target_is_faulty(places: Path) -> None:
    write(places, FAULTY, "xdg/dbcpu/dbcpu.toml")
    write(places, '[targets.bad]\nurl = "sqlite:///mended"\n[targets.good]\nurl = 3\n')
    said: list[str] = []
    assert targets.resolve("bad", said.append).url == "sqlite:///mended"
    assert len(said) == 1
    with pytest.raises(UsageError, match=r"here/dbcpu\.toml, \[targets\.good\]: url is not text"):
        targets.resolve("good")


@pytest.mark.parametrize(("text", "count"), [(FAULTY, 1), ("[targets.bad", 1), ("", 0)])
def test_what_needs_no_target_goes_on_and_says_what_is_faulty(places: Path, text: str, count: int) -> None:
    write(places, text)
    said: list[str] = []
    targets.say_faults(said.append)
    assert len(said) == count


def test_a_name_in_a_file_reaches_the_terminal_without_its_escapes(
    places: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(places, '[targets."\\u001b]0;x\\u0007"]\nport = 3\n')
    targets.say_faults()
    said = capsys.readouterr().err
    assert "[targets. ]0;x ]: unknown key 'port'" in said
    assert said.count("\n") == 1


def test_an_empty_password_file_is_refused(places: Path) -> None:
    write(places, '[targets.x]\nurl = "sqlite://u@h/d"\npassword_file = "pass"\n')
    write(places, "\n", "here/pass").chmod(0o600)
    with pytest.raises(UsageError, match="empty first line"):
        targets.resolve("x")


def test_a_password_is_asked_for_at_a_terminal(places: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(places, '[targets.x]\nurl = "sqlite://u@h/d"\npassword = "prompt"\n')
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("getpass.getpass", {"password for x: ": SECRET}.__getitem__)
    assert targets.resolve("x").password == SECRET


@pytest.mark.parametrize(
    ("url", "terminal", "password"),
    [
        ("oracle+oracledb://u@h/?service_name=s", True, SECRET),
        ("oracle+oracledb://u@h/?service_name=s", False, None),
        ("oracle+oracledb://u:other@h/?service_name=s", True, "other"),
        ("oracle+oracledb://@ALIAS", True, None),
        ("oracle+oracledb://u@h/?service_name=s&externalauth=1", True, None),
        ("postgresql://u@h/d", True, None),
    ],
)
def test_a_user_of_oracle_without_a_password_is_asked_at_a_terminal(
    url: str, terminal: bool, password: str | None, places: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """libpq looks for one itself; external authentication needs none."""
    write(places, f'[targets.x]\nurl = "{url.replace(":other", "")}"\n')
    monkeypatch.setattr("sys.stdin.isatty", lambda: terminal, raising=False)
    monkeypatch.setattr("getpass.getpass", lambda _: SECRET)
    assert targets.resolve(url, lambda _: None).password == password
    assert targets.resolve("x").password == (SECRET if password else None)


@pytest.mark.parametrize(
    "text",
    [
        f"dbcpu/{SECRET}@127.0.0.1:1521/orclpdb",
        f"oracle+oracledb:/dbcpu:{SECRET}@127.0.0.1",
        f"oracle+oracledb://dbcpu@?dsn=dbcpu/{SECRET}@127.0.0.1",
        f"oracle+oracledb://dbcpu/{SECRET}@127.0.0.1:1521/x",
        f"oracle+oracledb://dbcpu%2F{SECRET}@127.0.0.1:1521/x",
        f"oracle+oracledb:///dbcpu/{SECRET}@127.0.0.1:1521/x",
        f"postgresql://dbcpu/{SECRET}@127.0.0.1/x",
        f"dbcpu/{SECRET}",
        f"dbcpu:{SECRET}@127.0.0.1",
        f"host=h user=dbcpu password={SECRET}",
        f"host = h password = '{SECRET}'",
        f"oracle+oracledb://dbcpu@?dsn=tcps://h/x?wallet_password={SECRET}",
    ],
)
def test_a_password_where_none_belongs_is_refused_and_not_repeated(text: str, places: Path) -> None:
    write(places, f'[targets.x]\nurl = "{text}"\n')
    for given in (text, "x"):
        with pytest.raises(UsageError) as caught:
            targets.resolve(given)
        assert SECRET not in str(caught.value)
