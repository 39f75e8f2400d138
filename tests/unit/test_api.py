"""The Python API: small, typed, cheap to import, and the same answers as the command line gives."""

import json
import pickle
import subprocess
import sys
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

import dbcpu
from dbcpu import api, errors
from dbcpu.analysis.explain import explain
from dbcpu.cli import main
from dbcpu.record.rounds import RunRecord
from dbcpu.simulator import preset
from dbcpu.store.database import open_store
from plugins import runs
from support.builders.comparison import aa_run, noisy_run, with_variants
from support.builders.example import three_on_two

OLD = runs.record("20250102-a", label="old box")
NEW = runs.record("20250103-b", started_at="2025-01-03T00:00:00Z", target="prod", status="interrupted")


@pytest.fixture
def store(tmp_path: Path) -> str:
    path = str(tmp_path / "runs.db")
    with open_store(path) as opened:
        opened.save(OLD)
        opened.save(NEW)
    return path


def test_importing_the_package_loads_nothing_but_itself() -> None:
    script = (
        "import sys; before = set(sys.modules); import dbcpu; import dbcpu.registry\n"
        "own = {name for name in set(sys.modules) - before if name.startswith('dbcpu')}\n"
        "assert own == {'dbcpu', 'dbcpu.record', 'dbcpu.registry', 'dbcpu.errors'}, own\n"
        "heavy = {'numpy', 'click', 'sqlalchemy', 'scipy', 'msgspec'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
        "assert dbcpu.explain and 'dbcpu.api' in sys.modules\n"
        "assert 'matplotlib' not in sys.modules and 'click' not in sys.modules\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_package_offers_what_the_api_has() -> None:
    assert dbcpu.__all__ == api.__all__
    assert {name: getattr(dbcpu, name) for name in dbcpu.__all__} == {name: getattr(api, name) for name in api.__all__}
    assert set(dbcpu.__all__) < set(dir(dbcpu))
    assert (files("dbcpu") / "py.typed").is_file()


def test_analysis_json_is_what_the_command_line_prints(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run, file = three_on_two(), tmp_path / "run.json"
    dbcpu.write_record(file, run)
    assert main(["show", str(file), "--json"]) == 0
    told = dbcpu.analysis_json(run)
    assert json.loads(told) == json.loads(capsys.readouterr().out)
    assert json.loads(told)["findings"]
    with pytest.raises(errors.UsageError, match="a RunRecord is needed here, not Analysis"):
        dbcpu.analysis_json(dbcpu.explain(run))  # type: ignore[arg-type]


def test_an_empty_path_is_no_missing_file() -> None:
    with pytest.raises(errors.UsageError, match="'' is no file to read; give a path"):
        dbcpu.read_record("")


@pytest.mark.parametrize("place", ["", "-"])
def test_a_record_is_written_to_a_file_and_not_printed(place: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(errors.UsageError, match="is no file to write to; give a path"):
        dbcpu.write_record(place, OLD)
    assert capsys.readouterr().out == ""


def test_a_name_that_there_is_not_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'dbcpu' has no attribute 'explian'"):
        _ = dbcpu.explian  # type: ignore[attr-defined]


def test_every_name_says_what_it_is() -> None:
    assert [name for name in dbcpu.__all__ if not getattr(dbcpu, name).__doc__] == []


def test_runs_of_a_store_are_selected_without_reading_them(store: str) -> None:
    with dbcpu.open_store(store) as opened:
        assert [each.run_id for each in opened.runs()] == ["20250103-b", "20250102-a"]
        assert [each.run_id for each in opened.runs(label="old box")] == ["20250102-a"]
        assert [each.run_id for each in opened.runs(status="interrupted")] == ["20250103-b"]
        assert [each.run_id for each in opened.runs(target="embedded", limit=1)] == ["20250102-a"]
        assert opened.runs(host="none") == ()


def test_a_run_is_named_by_its_summary_its_beginning_or_last(store: str) -> None:
    with dbcpu.open_store(store) as opened:
        newest = opened.runs()[0]
        assert opened.record(newest) == opened.record("last") == opened.record("20250103") == NEW
        assert opened.header(newest) == NEW.header
        assert tuple(opened.rounds("20250102-a")) == OLD.rounds
        with pytest.raises(errors.UsageError, match=r"no run in the store .* begins with 'x'"):
            opened.record("x")


def test_explaining_a_stored_run_is_explaining_its_record(tmp_path: Path) -> None:
    run = three_on_two()
    with open_store(str(tmp_path / "runs.db")) as opened:
        opened.save(run)
    with dbcpu.open_store(str(tmp_path / "runs.db")) as kept:
        assert kept.explain("last") == dbcpu.explain(run) == explain(run)


def test_what_comes_back_is_frozen() -> None:
    with pytest.raises(AttributeError):
        dbcpu.explain(OLD).verdict = "fine"  # type: ignore[misc]


def test_a_store_that_there_is_not_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(dbcpu.DbcpuError, match=r"there is no store at .*typo\.db"):
        dbcpu.open_store(str(tmp_path / "typo.db"))
    assert not (tmp_path / "typo.db").exists()


def test_a_store_is_named_by_a_path_too_and_not_by_nothing(store: str) -> None:
    with dbcpu.open_store(Path(store)) as opened:
        assert len(opened.runs()) == 2
        with pytest.raises(errors.UsageError, match="limit is -1; give a whole number from 0 on"):
            opened.runs(limit=-1)
        with pytest.raises(errors.UsageError, match=r"no status of a run is called 'failing'.*did you mean 'failed'"):
            opened.runs(status="failing")
    for nothing in ("", "a\0b"):
        with pytest.raises(errors.UsageError, match="is no store; give a file or a URL"):
            dbcpu.open_store(nothing)


@pytest.mark.parametrize("given", ["reports/x/record.json.gz", None, {}, OLD.header])
def test_what_is_no_run_is_named(given: Any) -> None:
    kind = type(given).__name__
    with pytest.raises(errors.UsageError, match=f"a RunRecord is needed here, not {kind}"):
        dbcpu.explain(given)
    with pytest.raises(errors.UsageError, match=f"a RunRecord is needed here, not {kind}"):
        dbcpu.compare({"one": noisy_run(1), "other": [given]})


def test_an_unknown_name_is_known_in_another_process() -> None:
    with pytest.raises(errors.UnknownName) as caught:
        dbcpu.simulate("nope")
    there = pickle.loads(pickle.dumps(caught.value))  # noqa: S301 - of this test
    assert (type(there), str(there)) == (errors.UnknownName, str(caught.value))


def test_a_record_file_comes_back_the_same(tmp_path: Path) -> None:
    dbcpu.write_record(tmp_path / "run.json.gz", OLD)
    assert dbcpu.read_record(tmp_path / "run.json.gz") == OLD


def test_sides_are_runs_or_several() -> None:
    slow, fast = noisy_run(1), noisy_run(2, speed=1.5)
    one = dbcpu.compare({"slow": slow, "fast": fast})
    assert [side.name for side in one.sides] == ["slow", "fast"]
    assert [each.outcome for each in one.sides[1].decisions] == ["more", "not shown"]
    several = dbcpu.compare({"slow": [slow, noisy_run(3)], "fast": (fast, noisy_run(4, speed=1.5))})
    assert [len(side.runs) for side in several.sides] == [2, 2]


def test_a_floor_and_a_unit_of_levels_are_taken() -> None:
    sides = {"slow": noisy_run(1), "fast": noisy_run(2)}
    floor = dbcpu.compare(sides, aa=aa_run(noisy_run(5), noisy_run(6))).floor
    assert floor is not None
    assert dbcpu.compare(sides, levels_per="core").levels_per == "core"


def test_another_variant_is_a_run_of_its_own() -> None:
    both = with_variants(noisy_run(1), noisy_run(2, speed=1.5), "smt_off")
    off = dbcpu.one_variant(both, "smt_off")
    assert {each.variant for each in off.rounds} == {"smt_off"}
    assert len(dbcpu.compare({"on": both, "off": off}).sides) == 2


@pytest.mark.parametrize(
    ("sides", "given", "sentence"),
    [
        ({"only": noisy_run(1)}, {}, "a comparison needs two runs or more"),
        ({"one": noisy_run(1), "none": []}, {}, "side 'none' has no run"),
        ({"one": noisy_run(1), " ": noisy_run(2)}, {}, "' ' is no name of a side"),
        ({"one": noisy_run(1), 2: noisy_run(2)}, {}, "2 is no name of a side"),
        ({"one": OLD, "other": noisy_run(1)}, {}, "run 20250102-a has no valid round"),
        ({"one": OLD, "same": OLD}, {"levels_per": "cpu"}, "no unit of levels is called 'cpu'"),
        ({"one": noisy_run(1), "same": noisy_run(1)}, {}, "was given twice"),
    ],
)
def test_what_cannot_be_compared_is_a_sentence(
    sides: dict[str, dbcpu.RunRecord], given: dict[str, str], sentence: str
) -> None:
    with pytest.raises(errors.UsageError, match=sentence):
        dbcpu.compare(sides, **given)  # type: ignore[arg-type]


def test_sides_without_names_are_a_sentence() -> None:
    with pytest.raises(errors.UsageError, match="sides is of the type list; give a dict, such as "):
        dbcpu.compare([noisy_run(1), noisy_run(2)])  # type: ignore[arg-type]


@pytest.mark.parametrize("given", [None, 5])
def test_what_names_no_run_and_no_file_is_a_sentence(given: Any, store: str) -> None:
    with dbcpu.open_store(store) as opened:
        for ask in (opened.explain, opened.record, opened.header):
            with pytest.raises(errors.UsageError, match=r"run is of the type .*; give a run_id, or a summary"):
                ask(given)
    with pytest.raises(errors.UsageError, match=r"path is of the type .*; give a text or a pathlib\.Path"):
        dbcpu.read_record(given)
    with pytest.raises(errors.UsageError, match=r"path is of the type RunRecord; give "):
        dbcpu.write_record(noisy_run(1), "run.json")  # type: ignore[arg-type]


def test_the_same_simulation_gives_the_same_record() -> None:
    given = {"levels": "1-2", "repeats": 2, "seed": 3, "size": "tiny"}
    once = dbcpu.simulate("this-vm", **given)  # type: ignore[arg-type]
    assert once == dbcpu.simulate(preset("this-vm"), levels=(1, 2), repeats=2, seed=3, size="tiny")
    assert once != dbcpu.simulate("this-vm", **{**given, "seed": 4})  # type: ignore[arg-type]


def test_a_simulated_host_is_changed_by_its_fields() -> None:
    changed = dbcpu.simulate("this-vm", levels="1", repeats=1, changes={"cores": 4})
    own = dbcpu.simulate(replace(preset("this-vm"), cores=4), levels="1", repeats=1)
    assert changed.header.plan.vcpus == own.header.plan.vcpus == 4
    assert changed.header.run_id != own.header.run_id, "a changed preset has a name of its own"


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"host": "c4"}, "no simulated host is called 'c4'"),
        ({"changes": {"thread": 2}}, r"no field of a simulated host is called 'thread' \(did you mean 'threads'\?\)"),
        ({"changes": {"steal": 2.0}}, "steal"),
        ({"executions": 1, "for_s": 1.0}, "executions and for_s contradict each other"),
        ({"levels": "many"}, "'many' is no number or range"),
        ({"levels": ()}, "no levels are given; give numbers of sessions, or a text"),
        ({"levels": [True]}, "a level is True; give a whole number from 1 on"),
        ({"executions": 0}, "executions is 0; give a whole number from 1 on"),
        ({"executions": 2.5}, "executions is 2.5; give"),
        ({"repeats": "3"}, "repeats is '3'; give"),
        ({"seed": -1}, "seed is -1; give a whole number from 0 on"),
        ({"for_s": float("nan")}, "for_s is nan; give a number of seconds above 0"),
        ({"for_s": 0}, "for_s is 0; give"),
        ({"for_s": True}, "for_s is True; give"),
        ({"levels": b"12"}, "levels is of the type bytes; give numbers of sessions"),
        ({"levels": bytearray(b"12")}, "levels is of the type bytearray; give numbers of sessions"),
        ({"changes": {"held": (99,)}}, "held must be some of the online CPUs, 0 to 15, and is 99"),
        ({"host": None}, "host is of the type NoneType; give the name of a preset, or a SimulatedHost"),
        ({"levels": 3}, "levels is of the type int; give numbers of sessions, or a text such as '1-8,16'"),
        ({"size": None}, "size is of the type NoneType; give tiny, short, medium or long"),
        ({"changes": [1]}, "changes is of the type list; give a dict"),
        ({"changes": {"steal": "x"}}, r"changes do not fit a simulated host: .* `\$\.steal`"),
        ({"changes": {"cores": 1.5}}, r"changes do not fit a simulated host: .* `\$\.cores`"),
        ({"for_s": 1e12}, "for_s is 1000000000000.0; give a number of seconds above 0, at most 86400"),
    ],
)
def test_what_cannot_be_simulated_is_a_sentence(given: dict[str, object], sentence: str) -> None:
    with pytest.raises(errors.UsageError, match=sentence):
        dbcpu.simulate(**given)  # type: ignore[arg-type]


ROUND = OLD.rounds[0]


@pytest.mark.parametrize(
    ("odd", "reason"),
    [
        (RunRecord(OLD.header, (ROUND, ROUND)), "have the same order"),
        (RunRecord(OLD.header, (replace(ROUND, level=0),)), "level is 0, not from 1"),
        (RunRecord(replace(OLD.header, started_at="some day"), OLD.rounds), "started_at is 'some day'"),
        (RunRecord(replace(OLD.header, run_id=7), OLD.rounds), "run_id should be text"),
        (RunRecord(replace(OLD.header, plan=None), OLD.rounds), "plan should be an object"),
        (RunRecord(replace(OLD.header, run_id="last"), OLD.rounds), "run_id 'last' is not"),
    ],
)
def test_what_could_not_be_read_again_is_not_written(tmp_path: Path, odd: RunRecord, reason: str) -> None:
    path = tmp_path / "run.json"
    dbcpu.write_record(path, OLD)
    before = path.read_bytes()
    with pytest.raises(errors.RecordFormatError, match=reason):
        dbcpu.write_record(path, odd)
    assert path.read_bytes() == before
    assert not list(tmp_path.glob(".*"))


@pytest.mark.parametrize(
    "odd",
    [RunRecord("header", ()), RunRecord(OLD.header, 3), RunRecord(OLD.header, ("round",))],  # type: ignore[arg-type]
)
def test_a_record_of_other_things_is_refused_in_a_sentence(tmp_path: Path, odd: RunRecord) -> None:
    for used in (
        lambda: dbcpu.write_record(tmp_path / "run.json", odd),
        lambda: dbcpu.explain(odd),
        lambda: dbcpu.one_variant(odd),
        lambda: dbcpu.compare({"one": odd, "two": OLD}),
    ):
        with pytest.raises(errors.UsageError, match="of a RunRecord is of the type"):
            used()


@pytest.mark.parametrize("variant", [3, ("baseline",)])
def test_a_variant_is_named_by_a_text(variant: Any) -> None:
    with pytest.raises(errors.UsageError, match="variant is of the type"):
        dbcpu.one_variant(OLD, variant)


def test_a_limit_of_none_at_all_gives_no_run(store: str) -> None:
    with dbcpu.open_store(store) as opened:
        assert (len(opened.runs(limit=0)), len(opened.runs())) == (0, 2)
