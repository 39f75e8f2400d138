"""The encodings of the Oracle double, against published vectors, another implementation, and themselves."""

from datetime import UTC, datetime
from decimal import Decimal

import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from hypothesis import given
from hypothesis import strategies as st

from support.doubles.oracle import aes, values
from support.doubles.oracle.catalogue import Catalogue, Kind
from support.doubles.oracle.errors import OracleError
from support.doubles.oracle.session import sql_id
from support.doubles.oracle.values import Type, number_text
from support.doubles.oracle.wire import Reader, Writer


@pytest.mark.parametrize(
    ("key", "secret"),
    [
        # FIPS 197, appendix C: one block 00112233445566778899aabbccddeeff
        (16, "69c4e0d86a7b0430d8cdb78070b4c55a"),
        (24, "dda97ca4864cdfe06eaf70a0ec0d7191"),
        (32, "8ea2b7ca516745bfeafc49904b496089"),
    ],
)
def test_aes_gives_the_ciphertexts_of_the_standard(key: int, secret: str) -> None:
    plain = bytes.fromhex("00112233445566778899aabbccddeeff")
    assert aes.encrypt_cbc(bytes(range(key)), plain).hex() == secret
    assert aes.decrypt_cbc(bytes(range(key)), bytes.fromhex(secret)) == plain


@given(
    key=st.sampled_from((16, 24, 32)).flatmap(lambda n: st.binary(min_size=n, max_size=n)), plain=st.binary(max_size=70)
)
def test_aes_chains_blocks_as_another_implementation_does(key: bytes, plain: bytes) -> None:
    padded = aes.pad(plain)
    other = Cipher(algorithms.AES(key), modes.CBC(bytes(16))).encryptor()
    secret = aes.encrypt_cbc(key, padded)
    assert secret == other.update(padded) + other.finalize()
    assert aes.unpad(aes.decrypt_cbc(key, secret)) == plain


@pytest.mark.parametrize(
    ("number", "data"),
    [
        # DUMP() of these numbers, as printed in Oracle's documentation and articles on the format
        ("0", "80"), ("1", "c102"), ("100", "c202"), ("123", "c20218"), ("-1", "3e6466"), ("-123", "3d644e66"),
        ("0.01", "c002"), ("1.1", "c1020b"),
    ],
)  # fmt: skip
def test_numbers_are_encoded_as_oracle_dumps_them(number: str, data: str) -> None:
    assert values.encode_number(Decimal(number)).hex() == data
    assert values.decode_number(bytes.fromhex(data)) == Decimal(number)


@given(st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**30), max_value=10**30, places=8))
def test_a_number_survives_the_wire(number: Decimal) -> None:
    assert values.decode_number(values.encode_number(number)) == number


@given(st.floats(allow_nan=False))
def test_a_double_survives_the_wire(number: float) -> None:
    assert values.decode_double(values.encode_double(number)) == number


@given(st.datetimes(min_value=datetime(1, 1, 1), timezones=st.just(UTC)))
def test_a_time_with_zone_survives_the_wire(moment: datetime) -> None:
    assert values.decode_time(values.encode_time(moment, Type.TIMESTAMP_TZ)) == moment


@given(st.lists(st.one_of(st.integers(0, 2**64 - 1), st.binary(min_size=1, max_size=70_000)), max_size=5))
def test_what_the_writer_wrote_the_reader_reads_from_pieces(fields: list[int | bytes]) -> None:
    writer = Writer()
    for field in fields:
        writer.ub(field) if isinstance(field, int) else writer.data(field)
    data = bytes(writer)
    pieces = iter([data[at : at + 1000] for at in range(0, len(data), 1000)])
    reader = Reader(lambda: next(pieces))
    assert [reader.ub() if isinstance(field, int) else reader.data() for field in fields] == fields
    assert reader.at_end


def test_sql_id_is_the_one_oracle_computes() -> None:
    assert sql_id("select * from dual") == "a5ks9fhw2v9s1"


@pytest.mark.parametrize(
    ("number", "text"), [("0.25", ".25"), ("-0.5", "-.5"), ("12.50", "12.5"), ("1000", "1000"), ("0", "0")]
)
def test_numbers_become_text_as_to_char_writes_them(number: str, text: str) -> None:
    assert number_text(Decimal(number)) == text


def test_a_statement_is_recognised_by_its_text_whatever_its_case_and_spaces() -> None:
    known = Catalogue().recognise("SELECT  :number_bind AS number_value,\n :text_bind as text_value from DUAL ;")
    assert (known.kind, known.binds) == (Kind.QUERY, ("number_bind", "text_bind"))


@pytest.mark.parametrize(
    ("sql", "code"), [("select * from v$sesion", 942), ("selekt 1", 900), ("begin null; end;", 900)]
)
def test_an_unknown_statement_is_rejected(sql: str, code: int) -> None:
    with pytest.raises(OracleError) as caught:
        Catalogue().recognise(sql)
    assert caught.value.code == code
