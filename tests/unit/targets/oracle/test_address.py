"""What an Oracle URL means: SQLAlchemy's forms, every option known, no secret, nothing guessed."""

import re

import pytest
from sqlalchemy.engine import make_url

from dbcpu.config.targets import resolve
from dbcpu.errors import UsageError
from dbcpu.targets.oracle.address import OPTIONS, Address, from_environment, from_url, same_host
from support.paths import ROOT


def address(text: str, has_password: bool = True) -> Address:
    url = make_url(text)
    return from_url(url.username, url.host, url.port, url.database, url.query, has_password)


def test_a_service_on_a_host() -> None:
    found = address("oracle+oracledb://scott@db1.example:1522/?service_name=orclpdb1")
    assert found == Address("scott", None, {"host": "db1.example", "port": 1522, "service_name": "orclpdb1"})
    assert found.where == "db1.example:1522/orclpdb1"


def test_the_part_after_the_last_slash_is_a_sid_as_for_sqlalchemy() -> None:
    assert address("oracle://scott@db1/ORCL").options == {"host": "db1", "port": 1521, "sid": "ORCL"}


def test_a_bare_name_is_looked_up_in_tnsnames() -> None:
    found = address("oracle+oracledb://scott@orclpdb1?config_dir=/etc/tns")
    assert (found.dsn, found.options) == ("orclpdb1", {"config_dir": "/etc/tns"})


def test_a_whole_connect_string_is_taken_as_it_is() -> None:
    descriptor = "(DESCRIPTION=(ADDRESS=(PROTOCOL=tcp)(HOST=a)(PORT=1521))(CONNECT_DATA=(SERVICE_NAME=s)))"
    assert address(f"oracle+oracledb://scott@?dsn={descriptor}").dsn == descriptor


def test_nobody_named_is_authenticated_externally() -> None:
    found = address("oracle+oracledb://@store_alias?config_dir=/tns", has_password=False)
    assert found.options == {"config_dir": "/tns", "externalauth": True}
    assert (found.dsn, found.thick) == ("store_alias", True)
    tls = address("oracle+oracledb://u@h/?service_name=s&wallet_location=/w&wallet_password_env=W")
    assert (tls.options["wallet_location"], tls.wallet_password_env) == ("/w", "W")


def test_thick_mode_connects_without_a_listener() -> None:
    found = address("oracle+oracledb://?thick=1&lib_dir=/opt/ic", has_password=False)
    assert (found.thick, found.lib_dir, found.dsn, found.options) == (True, "/opt/ic", None, {"externalauth": True})


@pytest.mark.parametrize(
    ("url", "sentence"),
    [
        ("oracle://u@h:1/?pool_size=3", "has pool_size, which is not known; there are: "),
        ("oracle://u@h/SID?service_name=s", "names both a service and a SID"),
        ("oracle://u@h:1521/?dsn=x&service_name=s", "has dsn= and a host, service or SID beside it"),
        ("oracle://u@h:1521", r"names no service; add \?service_name=SERVICE after h:1521/"),
        ("oracle://u@h/?service_name=s&mode=god", "mode=god is not known"),
        (f"oracle://u@h/?service_name=s&sdu={'9' * 5000}", "sdu=9{40} in the Oracle URL is not a whole number"),
        (f"oracle://u@h/?service_name=s&expire_time={'9' * 5000}", "expire_time=9{40} in the Oracle URL"),
        ("oracle://u@h/?service_name=s&sdu=big", "sdu=big in the Oracle URL is not a whole number"),
        (
            "oracle://u@h/?service_name=s&expire_time=-5",
            "expire_time=-5 in the Oracle URL is not a whole number of 0 or more",
        ),
        ("oracle://u@h/?service_name=s&thick=maybe", "thick=maybe in the Oracle URL is not understood"),
        ("oracle://u@", "names no database"),
        ("oracle://u:p@ALIAS?thick=1&instance_name=i", "nothing is added to it, so that instance_name would have no"),
        ("oracle://u@?dsn=h/s&thick=1&sdu=8192&wallet_location=w", "so that wallet_location, sdu would have no effect"),
        ("oracle://u@h/s?externalauth=1&thick=0", "external authentication .* needs Oracle's client libraries"),
    ],
)
def test_what_is_wrong_is_told(url: str, sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence):
        address(url)


def test_the_bare_target_takes_two_task() -> None:
    assert from_environment({"TWO_TASK": "orcl"}) == Address(dsn="orcl", options={"externalauth": True}, thick=True)
    with pytest.raises(UsageError, match=r"no TWO_TASK; give a URL: oracle\+oracledb://"):
        from_environment({})


def test_urls_and_the_bare_name_resolve_to_oracle_and_lose_their_password() -> None:
    told: list[str] = []
    request = resolve("oracle+oracledb://scott:tiger@db1/?service_name=s", told.append)
    assert (request.kind, request.password) == ("oracle", "tiger")
    assert "tiger" not in request.url + request.name + repr(request)
    assert resolve("oracle").kind == "oracle"
    with pytest.raises(UsageError, match="wallet_password in it"):
        resolve("oracle://scott@db1/?service_name=s&wallet_password=secret")


def test_host_names_are_compared_without_their_domain() -> None:
    assert same_host("DB1.example.com", "db1")
    assert not same_host("db1", "db10")


def test_the_document_names_every_option() -> None:
    text = (ROOT / "docs" / "oracle.md").read_text("utf-8")
    connecting = text.partition("## Connecting")[2].partition("### Autonomous")[0]
    named = set(re.findall(r"\w+", " ".join(re.findall(r"`[^`]+`", connecting))))
    assert set(OPTIONS) <= named
