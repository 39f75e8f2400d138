"""TLS in front of the double, and wallets for it: certificates are made anew each time and worth nothing elsewhere.

What is in front is a proxy, and the server process behind it talks plain TNS: the client cannot tell. A wallet
is a folder with ``ewallet.pem``, the only form that thin mode reads.
"""

import contextlib
import datetime
import select
import socket
import ssl
import threading
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Self

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from support.doubles.oracle.double import OracleDouble

_CHUNK_BYTES = 65536
_PEM = serialization.Encoding.PEM


class Authority:
    """Signs certificates of servers and clients, and puts them into files of ``folder``."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = _name("a test's authority")
        self._certificate = self._sign(self._name, self._key, None)

    def server(self) -> Path:
        """Key and certificate of the listener on localhost, whose distinguished name is CN=double."""
        key = ec.generate_private_key(ec.SECP256R1())
        names = x509.SubjectAlternativeName([x509.DNSName("localhost")])
        file = self._folder / "server.pem"
        file.write_bytes(_plain(key) + _public(self._sign(_name("double"), key, names)))
        return file

    def trusted(self) -> Path:
        """The authority's certificate, in a file."""
        file = self._folder / "authority.pem"
        file.write_bytes(_public(self._certificate))
        return file

    def wallet(self, password: str | None = None, *, with_key: bool = True) -> Path:
        """A folder with ewallet.pem: the authority and, for a server that asks, a client's key and certificate."""
        folder = self._folder / "wallet"
        folder.mkdir(exist_ok=True)
        content = _public(self._certificate)
        if with_key:
            key = ec.generate_private_key(ec.SECP256R1())
            content = _protected(key, password) + _public(self._sign(_name("client"), key, None)) + content
        (folder / "ewallet.pem").write_bytes(content)
        return folder

    def _sign(
        self, subject: x509.Name, key: ec.EllipticCurvePrivateKey, names: x509.SubjectAlternativeName | None
    ) -> x509.Certificate:
        now = datetime.datetime.now(datetime.UTC)
        day = datetime.timedelta(days=1)
        builder = x509.CertificateBuilder(self._name, subject, key.public_key(), x509.random_serial_number())
        builder = builder.not_valid_before(now - day).not_valid_after(now + day)
        is_authority = subject == self._name
        builder = builder.add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), critical=True)
        if names is not None:
            builder = builder.add_extension(names, critical=False)
        return builder.sign(self._key, hashes.SHA256())


class TlsFront:
    """A context manager: a TLS port in front of a double. ``clients``: demand a certificate of whoever connects."""

    def __init__(self, double: OracleDouble, authority: Authority, *, clients: bool = False) -> None:
        self._behind = (double.host, double.port)
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.load_cert_chain(authority.server())
        if clients:
            self._context.verify_mode = ssl.CERT_REQUIRED
            self._context.load_verify_locations(authority.trusted())
        self._threads: list[threading.Thread] = []

    def __enter__(self) -> Self:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port = self._socket.getsockname()[1]
        self._start(self._accept)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # Wakes the thread that waits for connections; closing alone would not.
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join()
        self._socket.close()

    def _start(self, what: Callable[..., None], *given: object) -> None:
        thread = threading.Thread(target=what, args=given, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while True:
            try:
                accepted, _ = self._socket.accept()
            except OSError:
                return
            self._start(self._serve, accepted)

    def _serve(self, accepted: socket.socket) -> None:
        # Whoever fails the handshake is gone: that is what is tested.
        with (
            contextlib.suppress(OSError),
            accepted,
            self._context.wrap_socket(accepted, server_side=True) as outside,
            socket.create_connection(self._behind) as inside,
        ):
            _pump(outside, inside)


def _pump(outside: ssl.SSLSocket, inside: socket.socket) -> None:
    """Pass bytes both ways until either side has ended."""
    while True:
        # What TLS has decrypted already is not seen by select.
        ready = [outside] if outside.pending() else select.select([outside, inside], [], [])[0]
        for source in ready:
            data = source.recv(_CHUNK_BYTES)
            if not data:
                return
            (inside if source is outside else outside).sendall(data)


def _name(common: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common)])


def _public(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(_PEM)


def _plain(key: ec.EllipticCurvePrivateKey) -> bytes:
    return _protected(key, None)


def _protected(key: ec.EllipticCurvePrivateKey, password: str | None) -> bytes:
    how: serialization.KeySerializationEncryption = serialization.NoEncryption()
    if password is not None:
        how = serialization.BestAvailableEncryption(password.encode())
    return key.private_bytes(_PEM, serialization.PrivateFormat.PKCS8, how)
