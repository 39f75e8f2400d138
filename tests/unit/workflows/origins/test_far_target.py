"""From where a target is measured: as the command line says, else its table; and no secret is looked up for it."""

from pathlib import Path

import pytest

from dbcpu.errors import UsageError
from dbcpu.workflows.origins.far_target import PROGRAMS, far_target

TABLE = 'url = "postgresql://bench@localhost/postgres"\n'


@pytest.fixture
def named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    config = tmp_path / "dbcpu.toml"
    monkeypatch.setenv("DBCPU_CONFIG", str(config))
    return config


def test_a_table_says_from_where_and_the_command_line_overrides_it(named: Path) -> None:
    named.write_text(f'[targets.db]\n{TABLE}host = "ssh:db"\nfrom = "there"\npassword_env = "NOBODY_SET_THIS"\n')
    found = far_target("db", None, None)
    assert found is not None
    assert (found.origin, found.way.name, found.argument, found.programs) == ("there", "ssh:db", "db", PROGRAMS)
    assert found.table == {"url": "postgresql://bench@localhost/postgres", "password_env": "NOBODY_SET_THIS"}
    moved = far_target("db", "shell-kit", "docker:db")
    assert moved is not None
    assert (moved.origin, moved.way.name) == ("shell-kit", "docker:db")
    assert far_target("db", "here", None) is None


def test_a_url_or_a_kind_is_given_as_it_is(named: Path) -> None:
    named.write_text("")
    url = far_target("postgresql://bench@localhost/postgres", "there", "ssh:db")
    kind = far_target("shell", "shell-kit", "ssh:db")
    assert url is not None
    assert kind is not None
    assert (url.argument, url.table, kind.argument, kind.kind) == (
        "postgresql://bench@localhost/postgres", {}, "shell", "shell",
    )  # fmt: skip
    assert far_target("postgresql://bench@localhost/postgres", None, "ssh:db") is None


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ('from = "there"', 'needs the way there; add host = "ssh:NAME"'),
        ('from = "elsewhere"\nhost = "ssh:db"', "it is one of here, there, shell-kit"),
        ('from = "there"\nhost = "ssh:db"\npassword_file = "secret"', "give its whole path there"),
        ('from = "there"\nhost = "ssh:db"\npassword = "prompt"', "the far host cannot ask for a password"),
        ('from = "there"\nhost = "ssh:db"\nprogram = "/bin/sh"', "program is no path of a dbcpu"),
        ('from = "there"\nhost = "ssh:db"\nprogram = "/x/dbcpu; true /dbcpu"', "program is no path of a dbcpu"),
        ('from = "there"\nhost = "sql"', "needs a way to a shell there"),
    ],
)
def test_a_table_that_cannot_be_is_refused(named: Path, keys: str, said: str) -> None:
    from dbcpu.config.targets import resolve

    named.write_text(f"[targets.db]\n{TABLE}{keys}\n")
    with pytest.raises(UsageError, match=said):
        far_target("db", None, None)
        resolve("db")


@pytest.mark.parametrize(
    ("text", "said"),
    [("postgresql://bench:s3cret@db/x", "would be seen on the far host"), ("nonsense", "no kind of database")],
)
def test_a_target_that_cannot_be_given_is_refused_without_its_secret(named: Path, text: str, said: str) -> None:
    named.write_text("")
    with pytest.raises(UsageError, match=said) as refused:
        far_target(text, "there", "ssh:db")
    assert "s3cret" not in str(refused.value)
