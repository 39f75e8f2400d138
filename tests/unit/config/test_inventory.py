"""Inventories of every form become the same targets; what is wrong is said with its place."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from dbcpu.config.inventory import MAX_BYTES, Listed, as_toml, read_inventory, refuse_production, selected
from dbcpu.errors import DbcpuError, UsageError

URL = "postgresql://bench@{host}/postgres"
TOML = """
[defaults]
password_env = "BENCH"
[targets.db-1]
url = "postgresql://bench@{name}.example/postgres"
tags = { region = "eu", size = 4 }
group = "rack"
[targets.db-2]
url = "oracle+oracledb://bench@db2/?service_name=x"
password_env = "OTHER"
"""


def listed(folder: Path, name: str, text: str, url: str | None = None) -> tuple[Listed, ...]:
    (folder / name).write_text(text, "utf-8")
    return read_inventory(folder / name, url)


def test_toml_has_defaults_tags_and_groups(tmp_path: Path) -> None:
    first, second = listed(tmp_path, "fleet.toml", TOML)
    assert first == Listed(
        "db-1", "postgresql://bench@db-1.example/postgres", None, "BENCH", None, {"region": "eu", "size": "4"}, "rack"
    )
    assert (second.kind, second.password_env, second.group) == ("oracle", "OTHER", "")


def test_ansible_gives_hosts_variables_and_groups_of_groups(tmp_path: Path) -> None:
    text = json.dumps({
        "_meta": {"hostvars": {
            "a": {"ansible_host": "10.0.0.1", "dbcpu_group": "rack", "dbcpu_tags": {"region": "eu"}, "other": "s3cret"},
        }},
        "all": {"children": ["databases"]}, "databases": {"children": ["pg", "databases"]}, "pg": {"hosts": ["a", "b"]},
    })  # fmt: skip
    first, second = listed(tmp_path, "hosts.json", text, URL)
    assert first.url == "postgresql://bench@10.0.0.1/postgres"
    assert first.tags == {"databases": "yes", "pg": "yes", "region": "eu"}
    assert (first.group, second.url) == ("rack", "postgresql://bench@b/postgres")
    assert "s3cret" not in repr(first)


def test_csv_columns_that_are_no_keys_are_tags(tmp_path: Path) -> None:
    (found,) = listed(tmp_path, "hosts.csv", "name,url,region,group\na,sqlite,eu,rack\n")
    assert found == Listed("a", "sqlite", tags={"region": "eu"}, group="rack")


def test_names_of_ssh_config_are_reached_by_ssh_and_patterns_are_none(tmp_path: Path) -> None:
    found = listed(tmp_path, "config", "Host a b !c\n  HostName x\nhost=d\nHost *\n", URL)
    assert [(each.name, each.host) for each in found] == [("a", "ssh:a"), ("b", "ssh:b"), ("d", "ssh:d")]


SSH_LINES = [
    ("Host web1 # the web", ["web1"]),
    ("Host web1\t#the web", ["web1"]),
    ("Host = web1 # x", ["web1"]),
    ("Host # nobody", []),
    ('Host "web1" db # x', ["web1", "db"]),
    ('Host "web 1 # x" db', ["db"]),
    ("Host 'web1' \"db\" # 'x", ["web1", "db"]),
    ('Host web1 "#" x', ["web1", "x"]),
    ('Host we"b"1 x#y', ["web1"]),
    ('Host "we\\"b" x', ["x"]),
]


@pytest.mark.parametrize(("line", "names"), SSH_LINES)
def test_a_line_of_ssh_config_is_read_as_ssh_does(tmp_path: Path, line: str, names: list[str]) -> None:
    found = listed(tmp_path, "config", f"Host first\n{line}\nHostName the\n", URL)
    assert [each.name for each in found] == ["first", *names]


@pytest.mark.skipif(shutil.which("ssh") is None, reason="no ssh here")
@pytest.mark.parametrize(("line", "names"), SSH_LINES)
def test_ssh_itself_reads_it_so(tmp_path: Path, line: str, names: list[str]) -> None:
    (tmp_path / "config").write_text(f"{line}\n  User found\n")
    taken = []
    for name in ("web1", "the", "web", "db", 'we"b', "x", "y", "nobody"):
        asked = ["ssh", "-G", "-F", str(tmp_path / "config"), name]
        said = subprocess.run(asked, capture_output=True, text=True, stdin=subprocess.DEVNULL).stdout
        taken += [name] if "user found" in said.splitlines() else []
    assert taken == names


def test_a_quote_that_is_not_closed_is_named_with_its_line(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"config, line 2: a quote is not closed, and ssh refuses"):
        listed(tmp_path, "config", 'Host a\nHost "b c\n', URL)


def test_a_password_file_is_beside_the_inventory(tmp_path: Path) -> None:
    (found,) = listed(tmp_path, "x.csv", "name,url,password_file\na,sqlite,secret\n")
    assert found.password_file == str(tmp_path / "secret")


FAR = {
    "x.toml": '[targets.a]\nurl = "sqlite"\nhost = "ssh:a"\nfrom = "there"\npassword_file = "~/s"\n',
    "x.csv": "name,url,host,from,password_file\na,sqlite,ssh:a,there,~/s\n",
    "x.json": json.dumps({"_meta": {"hostvars": {"a": {
        "dbcpu_url": "sqlite", "dbcpu_host": "ssh:a", "dbcpu_from": "there", "dbcpu_password_file": "~/s",
    }}}}),
}  # fmt: skip


@pytest.mark.parametrize("name", FAR)
def test_every_form_says_from_where_and_a_password_file_is_seen_from_there(tmp_path: Path, name: str) -> None:
    (found,) = listed(tmp_path, name, FAR[name])
    assert (found.origin, found.origin_given, found.password_file) == ("there", True, "~/s")
    assert found.table() == {"url": "sqlite", "host": "ssh:a", "from": "there", "password_file": "~/s"}
    assert found.measured_from("here").table() == {"url": "sqlite", "host": "ssh:a", "password_file": "~/s"}
    with pytest.raises(UsageError, match="needs the way there"):
        Listed("b", "sqlite").measured_from("there")


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    first = listed(tmp_path, "fleet.toml", TOML)
    made = (*first, Listed('say "x"', "sqlite", "ssh:a", tags={"a b": "c=ü"}, origin="shell-kit", program="/x/dbcpu"))
    again = listed(tmp_path, "again.toml", as_toml(made))
    assert [replace(each, origin_given=False) for each in again] == list(made)
    assert all(each.origin_given for each in again)


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("x.toml", "[targets", "not valid TOML"),
        ("x.toml", "", "no target"),
        ("x.toml", "targets = 1", "targets is not a table"),
        ("x.toml", "[targets.a]\nurl = 'sqlite'\ntags = 'eu'", "tags is not a table"),
        ("x.toml", "[targets.a]\nurl = 'sqlite'\nurll = 'eu'", "unknown key 'urll'"),
        ("x.toml", "[targets.a]\nurl = 'postgresql://u:pw@h/x'", "holds a password"),
        ("x.toml", "[targets.a]\nurl = 'postgresql://u@h/x?options=pw'", "may hold a secret"),
        ("x.toml", "[targets.a]\nurl = 'sqlite'\npassword = 'prompt'", "a fleet cannot ask for a password"),
        ("x.json", "[]", "no _meta"),
        ("x.json", "{", "not valid JSON"),
        ("x.csv", "host\na", "no column called name"),
        ("x.csv", "name,url\na", "not as many fields"),
        ("x.csv", "name,url\na,sqlite\na,sqlite", "there already"),
        ("config", "Host a", "config: a has no url; add --url"),
        ("x.csv", "name,host\na,b", "x.csv: a has no url; add --url"),
        ("x.toml", "#" * (MAX_BYTES + 1), "larger than"),
    ],
)
def test_what_is_wrong_is_one_sentence(tmp_path: Path, name: str, text: str, said: str) -> None:
    with pytest.raises(UsageError, match=said) as refused:
        listed(tmp_path, name, text)
    assert "pw" not in str(refused.value)


@given(st.sampled_from(["x.toml", "x.json", "x.csv", "config"]), st.text(max_size=200))
def test_no_text_is_more_than_a_sentence(tmp_path_factory: pytest.TempPathFactory, name: str, text: str) -> None:
    folder = tmp_path_factory.getbasetemp()
    (folder / name).write_bytes(text.encode("utf-8", "surrogatepass"))
    try:
        read_inventory(folder / name, "sqlite")
    except DbcpuError as error:
        assert str(error)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("x.csv", "name,url\na,postgresql://u:pw@h/x\n"),
        ("x.toml", "[targets.a]\nurl = 'sqlite'\npassword = 'pw'"),
        ("x.toml", "[targets.a]\nurl = 'sqlite'\npassword = 'prompt'"),
        ("x.toml", "[defaults]\npassword = 'prompt'\n[targets.a]\nurl = 'sqlite'"),
        ("x.toml", "[targets.a]\nurl = 'sqlite'\npasswd = 'x'"),
        ("x.toml", "[defaults]\npasswd = 'x'\n[targets.a]\nurl = 'sqlite'"),
    ],
)
def test_no_sentence_advises_what_the_next_one_refuses(tmp_path: Path, name: str, text: str) -> None:
    """``password = "prompt"`` was advised, and then refused: a fleet can ask nobody."""
    with pytest.raises(UsageError, match="password_env") as refused:
        listed(tmp_path, name, text)
    advised = str(refused.value).rpartition(";")[2]
    assert "prompt" not in advised
    assert "password," not in advised
    assert "password_file" in advised


def test_targets_are_selected_by_all_their_tags(tmp_path: Path) -> None:
    both = listed(tmp_path, "fleet.toml", TOML)
    assert [each.name for each in selected(both, "region=e* kind=postgresql")] == ["db-1"]
    assert [each.name for each in selected(both, "name=db-?")] == ["db-1", "db-2"]
    assert selected(both, None) == both
    for select in ("region", "=eu", "region=us"):
        with pytest.raises(UsageError, match=r"TAG=VALUE|no target has"):
            selected(both, select)


@pytest.mark.parametrize(("value", "refused"), [("yes", True), ("true", True), ("yes-measure", False), ("no", False)])
def test_production_is_measured_on_purpose_alone(value: str, *, refused: bool) -> None:
    targets = [Listed("db-1", "sqlite", tags={"production": value})]
    if refused:
        with pytest.raises(UsageError, match="db-1: tagged production"):
            refuse_production(targets)
    else:
        refuse_production(targets)


@pytest.mark.parametrize("column", ["password", "Pwd", "api-key", "db_secret", "Access Token"])
def test_a_column_that_may_hold_a_secret_is_no_tag(tmp_path: Path, column: str) -> None:
    with pytest.raises(UsageError, match=f"{column} may hold a secret, and tags are kept") as refused:
        listed(tmp_path, "hosts.csv", f"name,url,{column}\na,sqlite,hunter2\n")
    assert "hunter2" not in str(refused.value)


def test_groups_of_ansible_may_be_called_as_they_are(tmp_path: Path) -> None:
    text = json.dumps({"_meta": {"hostvars": {"a": {"dbcpu_url": "sqlite"}}}, "secret_hosts": {"hosts": ["a"]}})
    assert listed(tmp_path, "hosts.json", text)[0].tags == {"secret_hosts": "yes"}


def test_an_unknown_placeholder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"url has \{bogus\} in it; only \{name\} and \{host\} are replaced"):
        listed(tmp_path, "hosts.csv", "name\na\n", "postgresql://me@{bogus}/x")


@pytest.mark.parametrize(("between", "said"), [(";", "has ; between"), ("\t", "has tabs between")])
def test_a_table_of_another_separator_is_said(tmp_path: Path, between: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        listed(tmp_path, "hosts.csv", f"name{between}url\na{between}sqlite\n")


@pytest.mark.parametrize("tags", [{"Production": "yes"}, {"PRODUCTION": "true"}])
def test_the_tag_production_counts_however_it_is_written(tags: dict[str, str]) -> None:
    with pytest.raises(UsageError, match="db-1: tagged production"):
        refuse_production([Listed("db-1", "sqlite", tags=tags)])
    refuse_production([Listed("db-1", "sqlite", tags={"Production": "Yes-Measure", "production": "NO"})])


def test_a_number_of_vcpus_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"\[targets\.a\]: the tag vcpus is 'abc', and no whole number from 1 to"):
        listed(tmp_path, "fleet.csv", "name,url,vcpus\na,sqlite,abc\n")
    (found,) = listed(tmp_path, "fleet.csv", "name,url,vcpus\na,sqlite,8\n")
    assert found.vcpus == 8
