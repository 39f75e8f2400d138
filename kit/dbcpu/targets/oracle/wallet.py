"""Whether a wallet of thin mode opens: tried before the first connect, since the driver keeps silent about it.

The driver passes over any error of the key in ``ewallet.pem``: a server that asks for a certificate then ends the
handshake without a reason, and one that does not ask is connected to as if nothing were wrong.
Source: python-oracledb, src/oracledb/impl/thin/transport.pyx; CPython, ssl.SSLContext.load_cert_chain
"""

import ssl
from collections.abc import Iterable, Iterator
from pathlib import Path

from dbcpu.errors import UsageError

FILE = "ewallet.pem"
_NO_FOLDER = "SYSTEM"
"""Stands for the authorities of the operating system. Source: Net Services Reference, WALLET_LOCATION"""
_MISMATCH = "KEY_VALUES_MISMATCH"


def doubt(locations: object, password: str | None, variable: str | None) -> str:
    """What may be wrong with the first wallet that has a key, for the message of a connect that fails; '' for nothing.

    Args:
        locations: a folder, None, or lists of these, as a descriptor of several addresses has them.
        password: of the key.
        variable: of the environment, from which the password came.

    Raises:
        UsageError: the file cannot be read, or the password does not open it; file and variable are named.
    """
    for folder in dict.fromkeys(_folders(locations)):
        if found := _doubt(Path(folder, FILE), password, variable):
            return found
    return ""


def _folders(locations: object) -> Iterator[str]:
    if isinstance(locations, Iterable) and not isinstance(locations, str):
        for each in locations:
            yield from _folders(each)
    elif locations and str(locations).upper() != _NO_FOLDER:
        yield str(locations)


def _doubt(file: Path, password: str | None, variable: str | None) -> str:
    try:
        content = file.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return ""  # the driver says so
    except OSError as error:
        raise UsageError(f"{file} cannot be read ({error.strerror}); let this user read it (chmod, chown)") from None
    if b"PRIVATE KEY" not in content:
        return ""
    protected = b"ENCRYPTED" in content
    if protected and password is None:
        # The TLS library would ask for it on the terminal, once for each session.
        raise UsageError(f"{file} is protected by a password; give it by wallet_password_env=VARIABLE in the URL")
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_cert_chain(file, password=password or "")
    except (ssl.SSLError, ValueError) as error:
        if protected and getattr(error, "reason", None) != _MISMATCH:
            raise UsageError(
                f"the password in {variable or 'wallet_password_env='} does not open {file}; give the one that was set "
                "when this wallet was made or downloaded, or, if it is right, copy the file once more"
            ) from None
        return f"the key and the first certificate of {file} do not fit each other: copy it from the wallet once more"
    return ""
