"""A record that was damaged or made up is refused with its field named, by every way in; every real one passes."""

import json
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from sqlalchemy import update

from dbcpu.cli import main
from dbcpu.errors import DbcpuError, RecordFormatError
from dbcpu.store import codec, record_file
from dbcpu.store.database import open_store
from dbcpu.store.engine import locate, open_engine
from dbcpu.store.record_checks import inconsistency
from dbcpu.store.schema.tables import round_
from plugins import runs
from support.paths import EXAMPLES, TESTS
from support.record_data import data_of

Change = Callable[[dict[str, Any]], object]
COMMITTED = sorted([*EXAMPLES.rglob("*.json.gz"), *(TESTS / "lab" / "results").rglob("*.json.gz"),
                    TESTS / "runs" / "schema-1.json"])  # fmt: skip


def _first(data: dict[str, Any]) -> Any:
    return data["rounds"][0]


def _session(data: dict[str, Any]) -> Any:
    return _first(data)["sessions"][0]


def _witnessed(cpus: list[dict[str, Any]]) -> Change:
    return lambda d: _first(d).update(witness={"hz": 10.0, "realtime": True, "cpus": cpus})


CHANGES: dict[str, tuple[Change, str]] = {
    "a start that is no time": (lambda d: d.update(started_at="yesterday"), r"started_at is 'yesterday', not a time"),
    "a witness twice": (
        _witnessed([{"cpu": 0, "at_us": [], "ns": []}] * 2), r"rounds\[0\]\.witness\.cpus has CPU 0 twice",
    ),
    "pieces without a time": (
        _witnessed([{"cpu": 0, "at_us": [1], "ns": []}]), r"witness\.cpus\[0\]\.ns has 0 values, and at_us has 1",
    ),
    "pieces out of order": (
        _witnessed([{"cpu": 0, "at_us": [2, 1], "ns": [5, 5]}]), r"witness\.cpus\[0\]\.at_us falls",
    ),
    "a piece of no time": (
        _witnessed([{"cpu": 0, "at_us": [1], "ns": [0]}]),
        r"witness\.cpus\[0\]\.ns is 0, not from 1",
    ),
    "a release beyond all time": (
        lambda d: _first(d).update(released_monotonic_s=3.4e38),
        r"rounds\[0\]\.released_monotonic_s holds 3\.4e\+38, beyond 1e\+12",
    ),
    "level 0": (lambda d: _first(d).update(level=0), r"rounds\[0\]\.level is 0, not from 1 to 10000"),
    "level of 10^8": (lambda d: _first(d).update(level=10**8), r"rounds\[0\]\.level is 100000000"),
    "level below 0": (lambda d: _first(d).update(level=-1), r"rounds\[0\]\.level is -1"),
    "planned level": (lambda d: d["plan"]["levels"].append(10**9), r"plan\.levels\[\d+\] is 1000000000"),
    "orders repeat": (lambda d: d["rounds"][1].update(order=0), r"rounds\[0\] and rounds\[1\] have the same order 0"),
    "ordinals repeat": (
        lambda d: _first(d).update(level=2, sessions=[_session(d), _session(d)]),
        r"rounds\[0\]\.sessions has ordinal 0 twice",
    ),
    "too many sessions": (
        lambda d: _first(d).update(sessions=[_session(d), {**_session(d), "ordinal": 1}]),
        r"rounds\[0\]\.sessions holds 2, more than its level 1",
    ),
    "variant not planned": (
        lambda d: (d["plan"].update(experiment="sweep"), _first(d).update(variant="smt_off")),
        r"rounds\[0\]\.variant is 'smt_off', none of plan\.variants",
    ),
    "calls of nobody": (
        lambda d: d["plan"].update(connections=None, one_at_a_time=True),
        r"plan\.one_at_a_time is of calls, and plan\.connections says that there are none",
    ),
    "no variants": (lambda d: d["plan"].update(variants=[]), r"plan\.variants names no variant"),
    "no rows": (lambda d: d["plan"]["workload"].update(rows=0), r"plan\.workload\.rows is 0"),
    "rows below 0": (lambda d: d["plan"]["workload"].update(rows=-1), r"plan\.workload\.rows is -1"),
    "rows beyond 64 bits": (lambda d: d["plan"]["workload"].update(rows=2**63), r"rows should be a whole number"),
    "rows beyond a float": (lambda d: d["plan"]["workload"].update(rows=10**400), r"rows should be a whole number"),
    "process number beyond 64 bits": (
        lambda d: _session(d)["server"].update(pid=2**64),
        r"rounds\[0\]\.sessions\[0\]\.server\.pid should be a whole number",
    ),
    "CPU -1": (
        lambda d: _session(d)["residency"][0].update(cpu=-1),
        r"rounds\[0\]\.sessions\[0\]\.residency\[0\]\.cpu is -1, not a CPU from 0 to 65535",
    ),
    "CPU 10^12": (lambda d: _session(d)["residency"][0].update(cpu=10**12), r"residency\[0\]\.cpu is 1000000000000"),
    "stretch backwards": (lambda d: _session(d)["residency"][0].update(to_s=-9.0), r"residency\[0\] is from -0\.01 s"),
    "elapsed below 0": (
        lambda d: _session(d)["executions"][0].update(elapsed_s=-1.0),
        r"rounds\[0\]\.sessions\[0\]\.executions\[0\]\.elapsed_s is -1\.0, not from 0",
    ),
    "a time of 10^300": (
        lambda d: _session(d)["executions"][0].update(elapsed_s=1e300), r"executions\[0\]\.elapsed_s is 1e\+300"
    ),
    "row of the timeline too short": (
        lambda d: _first(d)["cpu_timeline"][0].update(irq_s=[]),
        r"rounds\[0\]\.cpu_timeline\[0\]\.irq_s has 0 values, and timeline_s has 1 slices",
    ),
    "timeline falls": (lambda d: _first(d).update(timeline_s=[0.5, 0.0]), r"rounds\[0\]\.timeline_s does not rise"),
    "timeline of 10^300": (
        lambda d: _first(d)["cpu_timeline"][0].update(busy_s=[1e300]), r"cpu_timeline\[0\]\.busy_s holds 1e\+300"
    ),
    "siblings": (
        lambda d: d["host"]["topology"]["cpus"][0].update(siblings=list(range(9))),
        r"host\.topology\.cpus\[0\]\.siblings names 9 CPUs, more than the host has \(3\)",
    ),
    "no ticks": (lambda d: d["host"].update(clock_ticks=0), r"host\.clock_ticks is 0, not from 1"),
    "sampled at no rate": (lambda d: d["plan"].update(sampler="procfs", hz=0), r"plan\.hz is 0\.0, not above 0"),
    "polled at no rate": (lambda d: _first(d)["cost"].update(hz=0), r"rounds\[0\]\.cost\.hz is 0\.0, not above 0"),
    "witness at no rate": (
        lambda d: _first(d).update(witness={"hz": 0, "realtime": False, "cpus": []}),
        r"rounds\[0\]\.witness\.hz is 0\.0, not above 0",
    ),
    "CPU twice": (lambda d: d["host"]["topology"]["cpus"][1].update(cpu=0), r"host\.topology\.cpus has CPU 0 twice"),
}  # fmt: skip
every_change = pytest.mark.parametrize(("change", "reason"), CHANGES.values(), ids=CHANGES)


def changed(change: Change) -> dict[str, Any]:
    data = data_of(runs.full_record())
    change(data)
    return data  # type: ignore[no-any-return]


@pytest.mark.parametrize("path", COMMITTED, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_every_committed_record_is_consistent(path: Path) -> None:
    assert inconsistency(record_file.read(path)) is None


@every_change
def test_a_file_is_refused_and_its_field_named(tmp_path: Path, change: Change, reason: str) -> None:
    path = tmp_path / "run.json"
    path.write_text(json.dumps(changed(change)))
    with pytest.raises(RecordFormatError, match=rf"^{path} is damaged: .*{reason}"):
        record_file.read(path)


@every_change
def test_import_and_show_refuse_it_alike(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], change: Change, reason: str
) -> None:
    path = tmp_path / "run.json"
    path.write_text(json.dumps(changed(change)))
    said = []
    for command in (["show", str(path)], ["import", str(path), "--store", str(tmp_path / "runs.db")]):
        assert main(command) == 3
        said.append(capsys.readouterr().err)
    assert said[0] == said[1]


def test_the_store_refuses_to_save_it(tmp_path: Path) -> None:
    record = runs.record()
    bad = replace(record, rounds=(record.rounds[0], replace(record.rounds[1], order=0)))
    with open_store(str(tmp_path / "runs.db")) as store:
        with pytest.raises(RecordFormatError, match=r"cannot be kept: rounds\[0\] and rounds\[1\] have the same order"):
            store.save(bad)
        assert store.list() == ()


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"level": 0}, "level is 0"),
        ({"order": 7}, "its order is 7, and that of its row 0"),
        ({"level": 10**9}, "level"),
    ],
)
def test_a_stored_round_is_refused(tmp_path: Path, values: dict[str, int], reason: str) -> None:
    place = str(tmp_path / "runs.db")
    record = runs.record(rounds=1)
    with open_store(place) as store:
        store.save(record)
        data = {**codec.encode(record.rounds[0]), **values}
        with open_engine(locate(place)).begin() as connection:
            connection.execute(update(round_).values(body=zlib.compress(json.dumps(data).encode())))
        with pytest.raises(RecordFormatError, match=f"round 0 of run {record.header.run_id} .* is damaged: .*{reason}"):
            store.load(record.header.run_id)


@pytest.mark.parametrize("started_at", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00"])
def test_the_first_and_the_last_day_can_be_stored(tmp_path: Path, started_at: str) -> None:
    with open_store(str(tmp_path / "runs.db")) as store:
        assert store.save(runs.record(started_at=started_at))
        assert [each.started_at for each in store.list()] == [started_at]


@pytest.mark.parametrize("pack", [zlib.compress, lambda content: content], ids=["a store's body", "plain"])
def test_what_is_larger_than_any_run_is_not_uncompressed(
    monkeypatch: pytest.MonkeyPatch, pack: Callable[[bytes], bytes]
) -> None:
    monkeypatch.setattr(codec, "MAX_BYTES", 1000)
    with pytest.raises(DbcpuError, match="larger than any run"):
        content = pack(b" " * 2000)
        codec.loads(codec.uncompressed(content, "x") if content[:1] != b" " else content, "x")


def test_a_text_of_too_many_values_is_not_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(codec, "MAX_VALUES", 1000)
    assert codec.loads("[" + "0," * 900 + "0]", "x")
    with pytest.raises(RecordFormatError, match=r"x is damaged: it is larger than any run \(256 MiB, or 1000 values\)"):
        codec.loads("[" + "[]," * 900 + "0]", "x")


@pytest.mark.parametrize("device", ["/dev/zero", "/dev/full"])
def test_a_file_without_an_end_is_read_to_the_limit(monkeypatch: pytest.MonkeyPatch, device: str) -> None:
    monkeypatch.setattr(codec, "MAX_BYTES", 100_000)
    with pytest.raises(RecordFormatError, match=f"{device} is larger than any run"):
        record_file.content_of(device)
