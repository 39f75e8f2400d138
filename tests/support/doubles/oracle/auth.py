"""The server's half of the logon (O5LOGON) with an 11g or a 12c verifier; 10g only to be refused by the driver.

Two parameters travel in each direction: a challenge encrypted with the password's hash, and the session key made
of both halves, with which the client encrypts the password and the server its proof.
"""

import hashlib
import secrets
from collections.abc import Mapping

from support.doubles.oracle.aes import decrypt_cbc, encrypt_cbc, pad, unpad

VERIFIER_TYPES = {"10g": 0x939, "11g": 0x1B25, "12c": 0x4815}
_HASH_ROUNDS, _KEY_ROUNDS = 64, 3
"""A real server says 4096, which takes each side milliseconds. The client does as many as it is told."""
_PROOF = b"SERVER_TO_CLIENT"


def _derive(secret: bytes, salt: bytes, rounds: int, length: int) -> bytes:
    return hashlib.pbkdf2_hmac("sha512", secret, salt, rounds, length)


def _hex(data: bytes) -> str:
    return data.hex().upper()


class Logon:
    """One logon. ``challenge`` is the answer to phase one, ``check`` judges phase two."""

    def __init__(self, password: str, verifier: str) -> None:
        self._password = password.encode()
        self._new = verifier == "12c"
        self.verifier_type = VERIFIER_TYPES[verifier]
        self._salt = secrets.token_bytes(16 if self._new else 10)
        self._half = secrets.token_bytes(32 if self._new else 48)
        self._key_salt = secrets.token_bytes(16)
        self._key = b""
        self._hashed = self._hash()

    def _hash(self) -> bytes:
        if not self._new:
            return hashlib.sha1(self._password + self._salt, usedforsecurity=False).digest() + bytes(4)
        derived = _derive(self._password, self._salt + b"AUTH_PBKDF2_SPEEDY_KEY", _HASH_ROUNDS, 64)
        return hashlib.sha512(derived + self._salt).digest()[:32]

    def challenge(self) -> dict[str, str]:
        """The parameters of phase one. AUTH_VFR_DATA has to carry ``verifier_type`` in its flags."""
        parameters = {"AUTH_SESSKEY": _hex(encrypt_cbc(self._hashed, self._half)), "AUTH_VFR_DATA": _hex(self._salt)}
        if self._new:
            parameters |= {
                "AUTH_PBKDF2_CSK_SALT": _hex(self._key_salt),
                "AUTH_PBKDF2_VGEN_COUNT": str(_HASH_ROUNDS),
                "AUTH_PBKDF2_SDER_COUNT": str(_KEY_ROUNDS),
            }
        return parameters

    def check(self, parameters: Mapping[str, str]) -> bool:
        """Whether phase two proves the password."""
        theirs = decrypt_cbc(self._hashed, bytes.fromhex(parameters["AUTH_SESSKEY"]))
        self._key = self._combine(theirs)
        sent = unpad(decrypt_cbc(self._key, bytes.fromhex(parameters["AUTH_PASSWORD"])))
        return secrets.compare_digest(sent[16:], self._password)

    def proof(self) -> str:
        """AUTH_SVR_RESPONSE: that the server has the session key, too."""
        return _hex(encrypt_cbc(self._key, pad(secrets.token_bytes(16) + _PROOF)))

    def _combine(self, theirs: bytes) -> bytes:
        if self._new:
            both = _hex(theirs[:32] + self._half[:32]).encode()
            return _derive(both, self._key_salt, _KEY_ROUNDS, 32)
        mixed = bytes(a ^ b for a, b in zip(self._half[16:40], theirs[16:40], strict=True))
        halves = (hashlib.md5(half, usedforsecurity=False).digest() for half in (mixed[:16], mixed[16:]))
        return b"".join(halves)[:24]
