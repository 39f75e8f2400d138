"""AES in cipher block chaining mode, for the few blocks of a logon: the standard library has none.

Source: FIPS 197 (the cipher) and NIST SP 800-38A (the mode). Slow and not constant-time: for tests only.
"""

from operator import itemgetter

_BLOCK = 16


def _double(byte: int) -> int:
    return (byte << 1 ^ (0x11B if byte & 0x80 else 0)) & 0xFF


def _multiply(left: int, right: int) -> int:
    product = 0
    while right:
        if right & 1:
            product ^= left
        left, right = _double(left), right >> 1
    return product


def _boxes() -> tuple[bytes, bytes]:
    """The S-box (multiplicative inverse, then the affine transformation) and its inverse."""
    inverse = [0] * 256
    power, exponents = 1, []
    for _ in range(255):
        exponents.append(power)
        power ^= _double(power)
    for at, element in enumerate(exponents):
        inverse[element] = exponents[-at % 255]
    forward = bytearray(256)
    for byte, b in enumerate(inverse):
        forward[byte] = b ^ _rotate(b, 1) ^ _rotate(b, 2) ^ _rotate(b, 3) ^ _rotate(b, 4) ^ 0x63
    backward = bytearray(256)
    for byte, substitute in enumerate(forward):
        backward[substitute] = byte
    return bytes(forward), bytes(backward)


def _rotate(byte: int, count: int) -> int:
    return (byte << count | byte >> 8 - count) & 0xFF


_SBOX, _INVERSE_SBOX = _boxes()
# A state is 16 bytes, column by column; row r of a column is shifted by r columns.
_shift = itemgetter(*((at + 4 * (at % 4)) % _BLOCK for at in range(_BLOCK)))
_unshift = itemgetter(*((at - 4 * (at % 4)) % _BLOCK for at in range(_BLOCK)))


def _columns(*factors: int) -> list[list[int]]:
    """What a byte in each row of a column adds to the mixed column, as a number of 32 bits."""
    times = [[_multiply(byte, factor) for byte in range(256)] for factor in factors]
    return [
        [int.from_bytes(bytes(times[(row - at) % 4][byte] for at in range(4)), "big") for byte in range(256)]
        for row in range(4)
    ]


_MIXED, _UNMIXED = _columns(2, 3, 1, 1), _columns(14, 11, 13, 9)


def _round_keys(key: bytes) -> list[bytes]:
    words = [key[at : at + 4] for at in range(0, len(key), 4)]
    width, constant = len(words), 1
    while len(words) < 4 * (width + 7):
        word = words[-1]
        if len(words) % width == 0:
            word = (word[1:] + word[:1]).translate(_SBOX)
            word = bytes([word[0] ^ constant]) + word[1:]
            constant = _double(constant)
        elif width > 6 and len(words) % width == 4:
            word = word.translate(_SBOX)
        words.append(_xor(words[-width], word))
    return [b"".join(words[at : at + 4]) for at in range(0, len(words), 4)]


def _xor(left: bytes, right: bytes) -> bytes:
    return (int.from_bytes(left, "big") ^ int.from_bytes(right, "big")).to_bytes(len(left), "big")


def _mix(state: bytes, columns: list[list[int]]) -> bytes:
    first, second, third, fourth = columns
    return b"".join(
        (first[state[at]] ^ second[state[at + 1]] ^ third[state[at + 2]] ^ fourth[state[at + 3]]).to_bytes(4, "big")
        for at in range(0, _BLOCK, 4)
    )


def _encrypt_block(block: bytes, keys: list[bytes]) -> bytes:
    state = _xor(block, keys[0])
    for number, key in enumerate(keys[1:], 1):
        state = bytes(_shift(state.translate(_SBOX)))
        if number < len(keys) - 1:
            state = _mix(state, _MIXED)
        state = _xor(state, key)
    return state


def _decrypt_block(block: bytes, keys: list[bytes]) -> bytes:
    state = block
    for number, key in reversed(list(enumerate(keys[1:], 1))):
        state = _xor(state, key)
        if number < len(keys) - 1:
            state = _mix(state, _UNMIXED)
        state = bytes(_unshift(state)).translate(_INVERSE_SBOX)
    return _xor(state, keys[0])


def encrypt_cbc(key: bytes, plain: bytes) -> bytes:
    """AES-CBC with an initial vector of zeros; ``plain`` is a multiple of 16 bytes long. 16, 24 or 32 key bytes."""
    keys, previous, out = _round_keys(key), bytes(_BLOCK), bytearray()
    for at in range(0, len(plain), _BLOCK):
        previous = _encrypt_block(_xor(plain[at : at + _BLOCK], previous), keys)
        out += previous
    return bytes(out)


def decrypt_cbc(key: bytes, secret: bytes) -> bytes:
    """The inverse of ``encrypt_cbc``."""
    keys, previous, out = _round_keys(key), bytes(_BLOCK), bytearray()
    for at in range(0, len(secret), _BLOCK):
        block = secret[at : at + _BLOCK]
        out += _xor(_decrypt_block(block, keys), previous)
        previous = block
    return bytes(out)


def pad(plain: bytes) -> bytes:
    """PKCS #7 to whole blocks."""
    count = _BLOCK - len(plain) % _BLOCK
    return plain + bytes([count]) * count


def unpad(plain: bytes) -> bytes:
    """The inverse of ``pad``."""
    return plain[: -plain[-1]]
