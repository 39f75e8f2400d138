"""The primitive encodings of TTC: what one field looks like on the wire.

``ub`` numbers are a length byte and that many big-endian bytes; ``data`` is a length byte and the bytes,
or 254 and chunks; ``data2`` is a length as ``ub`` and, unless it is 0, ``data``.
"""

from collections.abc import Callable, Iterable
from typing import Self

_CHUNKED = 254
_NULL = 255
_LONGEST_PLAIN = 252
_CHUNK_BYTES = 32767
_NEGATIVE = 0x80
_SHORT_UB = (b"\0", *(bytes((1, value)) for value in range(1, 256)))
"""Most numbers are of these."""


class Reader:
    """Reads fields of a request that may go on in further packets: ``more`` waits for the next one's payload."""

    def __init__(self, more: Callable[[], bytes], start: bytes = b"") -> None:
        self._more = more
        self._data = start
        self._at = 0

    @property
    def at_end(self) -> bool:
        """Nothing of the packets received so far is unread."""
        return self._at == len(self._data)

    def raw(self, count: int) -> bytes:
        while len(self._data) - self._at < count:
            self._data = self._data[self._at :] + self._more()
            self._at = 0
        taken = self._data[self._at : self._at + count]
        self._at += count
        return taken

    def u8(self) -> int:
        if self.at_end:
            return self.raw(1)[0]
        self._at += 1
        return self._data[self._at - 1]

    def u16(self) -> int:
        return int.from_bytes(self.raw(2), "big")

    def ub(self) -> int:
        length = self.u8()
        if length > 8:
            raise ValueError(f"a number of {length:#x} bytes: the request is not laid out as expected")
        return int.from_bytes(self.raw(length), "big") if length else 0

    def data(self) -> bytes | None:
        length = self.u8()
        if length in (0, _NULL):
            return None
        if length != _CHUNKED:
            return self.raw(length)
        parts = []
        while chunk := self.ub():
            parts.append(self.raw(chunk))
        return b"".join(parts)

    def data2(self) -> bytes | None:
        return self.data() if self.ub() else None

    def text2(self) -> str:
        return (self.data2() or b"").decode("utf-8", "replace")

    def until_nul(self) -> bytes:
        taken = bytearray()
        while byte := self.u8():
            taken.append(byte)
        return bytes(taken)

    def skip(self, layout: str) -> None:
        """Pass over fields: ``1`` a byte, ``n`` an ``ub`` number, ``d`` data."""
        for field in layout:
            {"1": self.u8, "n": self.ub, "d": self.data}[field]()


class Writer:
    """Collects fields of a response. Every method returns the writer, so that a layout reads as one line."""

    def __init__(self) -> None:
        self._data = bytearray()

    def __bytes__(self) -> bytes:
        return bytes(self._data)

    def raw(self, data: bytes) -> Self:
        self._data += data
        return self

    def u8(self, *values: int) -> Self:
        self._data += bytes(value & 0xFF for value in values)
        return self

    def u16(self, *values: int) -> Self:
        for value in values:
            self._data += value.to_bytes(2, "big")
        return self

    def u16_little(self, *values: int) -> Self:
        for value in values:
            self._data += value.to_bytes(2, "little")
        return self

    def u32(self, *values: int) -> Self:
        for value in values:
            self._data += value.to_bytes(4, "big")
        return self

    def ub(self, *values: int) -> Self:
        for value in values:
            if 0 <= value < len(_SHORT_UB):
                self._data += _SHORT_UB[value]
                continue
            size = (abs(value).bit_length() + 7) // 8
            self._data.append(size | (_NEGATIVE if value < 0 else 0))
            self._data += abs(value).to_bytes(size, "big")
        return self

    def data(self, value: bytes | None) -> Self:
        if not value:
            return self.u8(0)
        if len(value) <= _LONGEST_PLAIN:
            return self.u8(len(value)).raw(value)
        self.u8(_CHUNKED)
        for chunk in _chunks(value):
            self.ub(len(chunk)).raw(chunk)
        return self.ub(0)

    def data2(self, value: bytes) -> Self:
        self.ub(len(value))
        return self.data(value) if value else self

    def text2(self, value: str) -> Self:
        return self.data2(value.encode())


def _chunks(value: bytes) -> Iterable[bytes]:
    return (value[start : start + _CHUNK_BYTES] for start in range(0, len(value), _CHUNK_BYTES))
