"""The TNS layer: packets on a socket, connect data, accept, refuse, data in pieces of one SDU, markers.

Up to and including ACCEPT a packet's length has 16 bits, afterwards 32.
"""

import re
import select
import socket

from msgspec import Struct

from support.doubles.oracle.errors import Break, ClientGone
from support.doubles.oracle.profiles import Profile
from support.doubles.oracle.wire import Reader, Writer

CONNECT, ACCEPT, REFUSE, DATA, MARKER = 1, 2, 4, 6, 12
_EOF = 0x0040
_END_OF_RESPONSE = 0x2000
_HEADER_BYTES = 8
_DATA_OVERHEAD = 10
_BREAK_MARKER, _RESET_MARKER = 1, 2
_NATIVE_ENCRYPTION_DISABLED = 0x04
_ITEM = re.compile(r"\(\s*(SERVICE_NAME|SID|SERVER|INSTANCE_NAME)\s*=\s*([^()\s]*)\s*\)", re.IGNORECASE)


class ConnectData(Struct, frozen=True):
    """What the client asks the listener for; '' where it does not say."""

    version: int
    sdu: int
    service: str
    sid: str
    server: str
    instance: str


class Channel:
    """One connection. ``gone`` is true once the client was seen to have closed it."""

    def __init__(self, connection: socket.socket) -> None:
        self._socket = connection
        self._buffer = bytearray()
        self._large = False
        self._sdu = 8192
        self._end_of_response = False
        self.gone = False

    # --- opening

    def read_connect(self) -> ConnectData:
        """The CONNECT packet; a descriptor of more than 230 bytes follows in a DATA packet of its own."""
        kind, body = self._receive()
        if kind != CONNECT or len(body) < 66:
            raise ClientGone
        fields = [int.from_bytes(body[at : at + 2], "big") for at in range(0, 20, 2)]
        length, offset = fields[8], fields[9] - _HEADER_BYTES
        text = body[offset : offset + length]
        if len(text) < length:
            _, text = self._receive()
            text = text[2:]
        items = {name.upper(): value for name, value in _ITEM.findall(text.decode("utf-8", "replace"))}
        sdu = int.from_bytes(body[50:54], "big") or fields[3]
        return ConnectData(
            version=fields[0],
            sdu=sdu,
            service=items.get("SERVICE_NAME", ""),
            sid=items.get("SID", ""),
            server=items.get("SERVER", ""),
            instance=items.get("INSTANCE_NAME", ""),
        )

    def accept(self, profile: Profile, sdu: int) -> None:
        """ACCEPT; from here on lengths have 32 bits."""
        body = Writer().u16(profile.accept_version, 1, min(sdu, 0xFFFF), 0xFFFF, 1, 0, 45)
        body.u8(_NATIVE_ENCRYPTION_DISABLED, _NATIVE_ENCRYPTION_DISABLED).raw(bytes(8)).u32(sdu, 2 << 20)
        if profile.accept_version >= 318:
            body.u8(0).u32(profile.accept_flags)
        self._send(ACCEPT, bytes(body))
        self._large = True
        self._sdu = sdu
        self._end_of_response = profile.end_of_response

    def refuse(self, code: int) -> None:
        """REFUSE with the listener's error stack."""
        stack = f"(ERROR_STACK=(ERROR=(CODE={code})(EMFI=4)))"
        text = f"(DESCRIPTION=(TMP=)(VSNNUM=0)(ERR={code}){stack})".encode()
        self._send(REFUSE, bytes(Writer().u8(0x22, 0).u16(len(text)).raw(text)))

    # --- talking

    def request(self) -> Reader:
        """Wait for the next request. Raises Break for a marker, ClientGone when the connection is closed."""
        return Reader(self.payload, self.payload())

    def payload(self) -> bytes:
        """The payload of the next DATA packet."""
        kind, body = self._receive()
        if kind == MARKER:
            raise Break
        if kind != DATA or int.from_bytes(body[:2], "big") & _EOF:
            raise ClientGone
        return body[2:]

    def respond(self, payload: bytes, *, marked: bool = True) -> None:
        """Send a response in as many packets as it needs. ``marked`` is False before logon, in the classic steps."""
        flagged = marked and self._end_of_response
        if flagged:
            payload += b"\x1d"
        room = self._sdu - _DATA_OVERHEAD
        pieces = [payload[at : at + room] for at in range(0, len(payload), room)]
        for at, piece in enumerate(pieces, 1):
            flags = _END_OF_RESPONSE if flagged and at == len(pieces) else 0
            self._send(DATA, flags.to_bytes(2, "big") + piece)

    def break_requested(self) -> bool:
        """Whether a break waits to be read, without waiting. Sets ``gone`` when the client has left."""
        if not self.gone and select.select([self._socket], [], [], 0)[0]:
            try:
                self._fill()
            except ClientGone:
                self.gone = True
        return self._complete() and self._buffer[4] == MARKER

    def answer_break(self) -> None:
        """Break, wait for the client's reset, reset. What else the client sent before its reset is void."""
        self._send(MARKER, bytes([1, 0, _BREAK_MARKER]))
        while True:
            kind, body = self._receive()
            if kind == MARKER and body[2] == _RESET_MARKER:
                break
        self._send(MARKER, bytes([1, 0, _RESET_MARKER]))

    # --- packets

    def _length(self) -> int:
        return int.from_bytes(self._buffer[: 4 if self._large else 2], "big")

    def _complete(self) -> bool:
        return len(self._buffer) >= _HEADER_BYTES and len(self._buffer) >= self._length()

    def _receive(self) -> tuple[int, bytes]:
        while not self._complete():
            self._fill()
        length = self._length()
        kind, body = self._buffer[4], bytes(self._buffer[_HEADER_BYTES:length])
        del self._buffer[: max(length, _HEADER_BYTES)]
        return kind, body

    def _fill(self) -> None:
        try:
            received = self._socket.recv(65536)
        except OSError:
            received = b""
        if not received:
            raise ClientGone
        self._buffer += received

    def _send(self, kind: int, body: bytes) -> None:
        length = (_HEADER_BYTES + len(body)).to_bytes(4 if self._large else 2, "big")
        head = length.ljust(4, b"\0") + bytes([kind, 0, 0, 0])
        try:
            self._socket.sendall(head + body)
        except OSError:
            raise ClientGone from None
