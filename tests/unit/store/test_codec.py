import json
import types
import typing
from collections.abc import Mapping
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import Struct
from msgspec.structs import fields, replace

from dbcpu.errors import RecordFormatError
from dbcpu.record.header import SCHEMA, Header
from dbcpu.record.rounds import Execution, Residency, Round, RunRecord
from dbcpu.store import codec, record_file
from plugins import runs
from support.paths import TESTS
from support.record_data import data_of

RUNS = TESTS / "runs"


def values_of(hint: Any) -> st.SearchStrategy[Any]:
    """Any value that fits a type hint of the record."""
    plain: dict[Any, st.SearchStrategy[Any]] = {
        int: st.integers(-(2**63), 2**63 - 1),
        bool: st.booleans(),
        float: st.floats(allow_nan=False, allow_infinity=False),
        str: st.text(st.characters(exclude_categories=()), max_size=5),
    }
    if hint in plain:
        return plain[hint]
    if typing.get_origin(hint) is typing.Annotated:
        return values_of(typing.get_args(hint)[0])
    if isinstance(hint, type) and issubclass(hint, Struct):
        members = {each.name: values_of(each.type) for each in fields(hint)}
        if hint is Header:
            members["run_id"] = st.from_regex(codec.RUN_ID, fullmatch=True)
            members["status"] = st.sampled_from(codec.STATUSES)
            members["schema"] = st.just(SCHEMA)
        return st.builds(typing.cast(Any, hint), **members)
    arguments = typing.get_args(hint)
    if typing.get_origin(hint) in (types.UnionType, typing.Union):
        return st.none() | values_of(arguments[0])
    if typing.get_origin(hint) is tuple:
        return st.lists(values_of(arguments[0]), max_size=2).map(tuple)
    assert typing.get_origin(hint) is Mapping
    return st.dictionaries(values_of(str), values_of(arguments[1]), max_size=2)


@settings(max_examples=25, suppress_health_check=list(HealthCheck))
@given(values_of(RunRecord))
def test_whatever_fits_the_types_comes_back_the_same(record: RunRecord) -> None:
    text = "".join(codec.json_pieces(record.header, record.rounds))
    assert text.isascii()
    data = codec.loads(text, "test")
    rounds = tuple(codec.decode(Round, each, "test") for each in data["rounds"])
    assert RunRecord(codec.decode(Header, data, "test"), rounds) == record


def test_whole_floats_come_back_as_floats() -> None:
    back = codec.decode(Execution, json.loads('{"start_s": 1, "elapsed_s": 2}'), "test")
    assert (type(back.start_s), type(back.elapsed_s)) == (float, float)


def test_what_is_like_a_float_a_text_or_a_mapping_is_written_as_one() -> None:
    class Text(str):
        __slots__ = ()

    session = runs.round_of(1, 0).sessions[0]
    given = replace(
        session, connect_s=2, cpu_s=np.float64(1.5), error=Text("x"), db=types.MappingProxyType({"a": np.float64(1.0)})
    )
    data = codec.encode(given)
    found = [data[name] for name in ("connect_s", "cpu_s", "error", "db")]
    assert json.dumps(found) == '[2.0, 1.5, "x", {"a": 1.0}]'
    assert [type(value) for value in found] == [float, float, str, dict]


def test_an_object_that_json_has_no_form_for_is_not_written() -> None:
    with pytest.raises(RecordFormatError, match="Session cannot be kept: JSON has no form of object"):
        codec.encode(replace(runs.round_of(1, 0).sessions[0], error=typing.cast(Any, object())))


def test_a_file_has_the_header_with_its_schema_first_and_then_the_rounds() -> None:
    record = runs.full_record()
    data = json.loads("".join(codec.json_pieces(record.header, record.rounds)))
    rounds = [codec.encode(each) for each in record.rounds]
    assert data == json.loads(codec.dumps({**codec.header_to_data(record.header), "rounds": rounds}))
    assert next(iter(data)) == "schema"


def test_example_sets_every_field_to_something_else_than_its_default() -> None:
    missed = {
        f"{type(value).__name__}.{each.name}"
        for value in _all_parts(runs.full_record())
        for each in fields(value)
        if each.default is not msgspec.NODEFAULT and getattr(value, each.name) != each.default
    }
    wanted = {
        f"{type(value).__name__}.{each.name}"
        for value in _all_parts(runs.full_record())
        for each in fields(value)
        if each.default is not msgspec.NODEFAULT
    }
    assert wanted - missed == {"Header.schema", "HostInfo.clock_ticks"}


def _all_parts(value: Any) -> list[Any]:
    if isinstance(value, tuple):
        return [found for each in value for found in _all_parts(each)]
    if not isinstance(value, Struct):
        return []
    members = msgspec.structs.astuple(value)
    return [value, *_all_parts(members)]


def test_committed_file_of_schema_1_is_read_and_written_unchanged() -> None:
    path = RUNS / "schema-1.json"
    record = record_file.read(path)
    assert record.header.plan.for_s == 2.5
    assert record.rounds[0].foreign[0].command == "backup \udcff) R"
    assert record.rounds[0].sessions[0].residency[1] == Residency(1, "S", 0.1, 0.3)
    assert "".join(codec.json_pieces(record.header, record.rounds)) == path.read_text("ascii")


def test_fields_with_defaults_may_be_absent_and_unknown_ones_are_passed_over() -> None:
    data = data_of(runs.record())
    del data["rounds"][0]["anchor"]
    del data["rounds"][0]["sessions"][0]["db"]
    data["rounds"][0]["sessions"][0]["added_later"] = {"x": [1]}
    data["remark"] = "of another program"
    assert codec.from_data(data, "test") == runs.record()


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), float("-inf")])
def test_no_number_that_json_lacks_is_written(bad: float) -> None:
    session = replace(runs.round_of(1, 0).sessions[0], cpu_s=bad)
    with pytest.raises(RecordFormatError, match=r"Round\.sessions\[0\]\.cpu_s should be a finite number, but is -?\w+"):
        codec.encode(runs.round_of(1, 0, sessions=(session,)))


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"level": "2"}, r"Round\.level should be a whole number, but is '2'"),
        ({"level": True}, r"Round\.level should be a whole number, but is True"),
        ({"anchor": 1}, r"Round\.anchor should be true or false, but is 1"),
        ({"variant": None}, r"Round\.variant should be text, but is None"),
        ({"sessions": None}, r"Round\.sessions should be a list, but is None"),
        ({"sessions": (1,)}, r"Round\.sessions\[0\] should be an object, but is 1"),
        ({"cost": runs.header()}, r"Round\.cost\.window_s should be a finite number, but is nothing"),
        ({"released_monotonic_s": 10**400}, r"Round\.released_monotonic_s should be a finite number"),
    ],
)
def test_what_does_not_fit_its_hint_is_not_written(changed: dict[str, Any], reason: str) -> None:
    with pytest.raises(RecordFormatError, match=reason):
        codec.encode(replace(runs.round_of(1, 0), **changed))


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"schema": None}, "f.json has no schema number, so it is not a run recorded by dbcpu"),
        ({"schema": SCHEMA + 1}, f"f.json has schema {SCHEMA + 1}, newer than {SCHEMA}, the newest .* update dbcpu"),
        ({"schema": "1"}, "f.json is damaged: its schema is '1'"),
        ({"schema": 0}, "f.json is damaged: its schema is '0'"),
        ({"rounds": None}, "f.json is damaged: it has no list of rounds"),
        ({"rounds": [{}]}, r"f.json is damaged: rounds\[0\].level should be a whole number, but is nothing"),
        ({"plan": []}, r"f.json is damaged: plan should be an object, but is \[\]"),
        ({"notes": [1]}, r"f.json is damaged: notes\[0\] should be text, but is 1"),
        (
            {"database": {"kind": "x", "version": "1", "parameters": {"a": 1}}},
            r"f.json is damaged: database\.parameters\['a'\] should be text, but is 1",
        ),
        ({"plan": {}}, r"f.json is damaged: plan\.target should be text, but is nothing"),
        ({"run_id": "../../etc"}, "f.json is damaged: run_id '../../etc'"),
        ({"run_id": "last"}, "f.json is damaged: run_id 'last'"),
        ({"status": "odd"}, "f.json is damaged: status 'odd'"),
    ],
)
def test_each_way_to_be_unreadable_has_its_sentence(changed: dict[str, Any], sentence: str) -> None:
    data = {**data_of(runs.record()), **changed}
    with pytest.raises(RecordFormatError, match=sentence):
        codec.from_data(data, "f.json")


@pytest.mark.parametrize("data", [[], "text", 7, None, {}])
def test_json_that_is_no_run_at_all_has_no_schema(data: object) -> None:
    with pytest.raises(RecordFormatError, match="has no schema number"):
        codec.from_data(data, "f.json")


def test_what_a_command_printed_as_json_is_no_run() -> None:
    with pytest.raises(RecordFormatError, match=r"^f\.json holds no run; .* dbcpu export RUN FILE\.json$"):
        codec.from_data({"schema": 1, "run_id": "a", "outcome": {}}, "f.json")


def test_what_is_no_text_is_called_so() -> None:
    with pytest.raises(RecordFormatError, match=r"^f\.json is damaged: it is not text in UTF-8 \(byte 2\); "):
        codec.loads(b'{"\xcc": 1}', "f.json")


@pytest.mark.parametrize("text", [b"", "\n"])
def test_a_file_without_content_is_called_empty(text: str | bytes) -> None:
    with pytest.raises(RecordFormatError, match=r"^f\.json is damaged: it is empty; "):
        codec.loads(text, "f.json")


@pytest.mark.parametrize("text", ["{", '{"a": NaN}', '{"a": -Infinity}', "[" * 100_000, b"\xff\xfe{}"])
def test_text_that_is_not_json_is_damaged(text: str | bytes) -> None:
    with pytest.raises(RecordFormatError, match=r"^f\.json is damaged: "):
        codec.loads(text, "f.json")


def test_number_too_large_for_a_float_is_damaged() -> None:
    data = codec.loads('{"start_s": 1e999, "elapsed_s": 0}', "f.json")
    with pytest.raises(RecordFormatError, match="start_s should be a finite number, but is inf"):
        codec.decode(Execution, data, "f.json")
