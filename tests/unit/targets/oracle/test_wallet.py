"""A wallet is opened before anything is connected to."""

from pathlib import Path

import pytest

from dbcpu.errors import UsageError
from dbcpu.targets.oracle import wallet
from support.doubles.oracle.tls import Authority

PASSWORD = "of the wallet"
BEGIN = b"-----BEGIN CERT"


def test_what_opens_or_has_no_key_raises_no_doubt(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    assert wallet.doubt(str(authority.wallet(PASSWORD)), PASSWORD, "W") == ""
    assert wallet.doubt(str(authority.wallet()), None, None) == ""
    assert wallet.doubt(str(authority.wallet(with_key=False)), PASSWORD, "W") == ""
    assert [wallet.doubt(each, PASSWORD, "W") for each in (None, "SYSTEM", str(tmp_path), [[None], None])] == [""] * 4


@pytest.mark.parametrize("password", ["another", "x" * 2000])
def test_a_wrong_password_names_file_and_variable(password: str, tmp_path: Path) -> None:
    folder = Authority(tmp_path).wallet(PASSWORD)
    with pytest.raises(UsageError) as caught:
        wallet.doubt([None, [str(folder)]], password, "WALLET_PASSWORD")
    assert f"the password in WALLET_PASSWORD does not open {folder}/ewallet.pem" in str(caught.value)
    assert password not in str(caught.value)


def test_a_protected_one_without_a_password_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is protected by a password; give it by wallet_password_env=VARIABLE"):
        wallet.doubt(str(Authority(tmp_path).wallet(PASSWORD)), None, None)


def test_a_key_of_another_certificate_is_said_where_the_connect_fails(tmp_path: Path) -> None:
    """A server that asks for no certificate is connected to, as before."""
    authority = Authority(tmp_path)
    other = (authority.wallet() / wallet.FILE).read_bytes()
    folder = authority.wallet(PASSWORD)
    own = (folder / wallet.FILE).read_bytes()
    (folder / wallet.FILE).write_bytes(own[: own.index(BEGIN)] + other[other.index(BEGIN) :])
    assert "do not fit each other" in wallet.doubt(str(folder), PASSWORD, "W")


def test_one_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / wallet.FILE).mkdir()
    with pytest.raises(UsageError, match=r"ewallet\.pem cannot be read \(Is a directory\)"):
        wallet.doubt(str(tmp_path), PASSWORD, "W")
