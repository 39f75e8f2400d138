"""A fleet of simulated hosts goes the same way as one of databases: processes, states, a report."""

import re
from collections import Counter
from pathlib import Path

import pytest

from dbcpu.errors import UsageError
from dbcpu.store.campaigns import DONE, PLANNED, REFUSED
from dbcpu.store.database import open_store
from dbcpu.workflows.fleet.simulated import arguments
from support.driving import Drive

pytestmark = pytest.mark.slow

OPTIONS = ("--sessions", "1,2", "--size", "tiny", "--repeats", "2")


def inventory(folder: Path, **urls: str) -> str:
    file = folder / "fleet.csv"
    file.write_text("name,url,instance\n" + "".join(f"{name},{url},c4\n" for name, url in urls.items()))
    return str(file)


def states(store: Path, campaign: str) -> dict[str, str]:
    with open_store(str(store)) as opened:
        return {each.target: each.state for each in opened.campaigns.items(campaign)}


def test_arguments_are_those_of_simulate_that_a_run_has_too() -> None:
    found = arguments("simulated://c4.4xlarge?noise=0.02&bare-metal", (*OPTIONS, "--sampler", "proc"))
    assert found == ["c4.4xlarge", "--noise", "0.02", "--bare-metal", *OPTIONS]
    with pytest.raises(UsageError, match="no simulated://PRESET"):
        arguments("simulated://[", ())


def test_targets_are_measured_once_and_refused_ones_again_only_if_told(drive: Drive, tmp_path: Path) -> None:
    given = inventory(tmp_path, a="simulated://this-vm?seed=1", b="simulated://this-vm?seed=2", gone="simulated://none")
    code, _, err = drive("fleet", "run", given, "--campaign", "q4", *OPTIONS, "--yes").finish()
    assert (code, states(drive.store, "q4")) == (3, {"a": DONE, "b": DONE, "gone": REFUSED}), err
    assert re.search(r"gone: refused: no simulated host is called 'none'", err)
    assert err.rstrip().endswith("go on: dbcpu fleet resume q4 --failed")
    given_store = drive("fleet", "resume", "q4", "--yes", "--store", str(drive.store)).finish()[2]
    assert f"dbcpu fleet status q4 --store {drive.store}; go on" in given_store
    assert drive("fleet", "resume", "q4", "--failed", "--yes").finish()[0] == 3
    assert Counter(run.label for run in drive.runs()) == Counter(["q4/a", "q4/b"])
    code, out, _ = drive("fleet", "report", "q4").finish()
    assert (code, "no simulated host is called" in " ".join(out.split())) == (0, True)


def test_a_dry_run_keeps_nothing_and_a_name_is_taken_once(drive: Drive, tmp_path: Path) -> None:
    given = inventory(tmp_path, a="simulated://this-vm", db="postgresql://me@127.0.0.1:1/x")
    code, out, _ = drive("fleet", "run", given, "--campaign", "q4", "--dry-run").finish()
    assert (code, "2 targets" in out, "16 are assumed" in out, drive.store.exists()) == (0, True, True, False)
    only = ("--select", "name=a")
    assert drive("fleet", "run", given, "--campaign", "q4", *only, *OPTIONS, "--yes").finish()[0] == 0
    code, _, err = drive("fleet", "run", given, "--campaign", "q4", *only, *OPTIONS, "--yes").finish()
    assert (code, "has a campaign 'q4' already" in err) == (2, True)
    assert PLANNED not in states(drive.store, "q4").values()


def test_findings_of_its_runs_make_the_exit_code(drive: Drive, tmp_path: Path) -> None:
    given = inventory(tmp_path, fine="simulated://this-vm?seed=1", stolen="simulated://this-vm?seed=2&steal=0.4")
    run = ("fleet", "run", given, "--campaign", "q4", "--sessions", "1-3", "--repeats", "3", "--yes")
    code, out, err = drive(*run, "--fail-on", "problem").finish()
    assert code == 0, err
    code, out, err = drive("fleet", "resume", "q4", "--fail-on", "warning").finish()
    assert code == 1, err
    (named,) = [line for line in out.splitlines() if line.startswith("  stolen: ")]
    with open_store(str(drive.store)) as opened:
        (run_id,) = [each.run_id for each in opened.campaigns.items("q4") if each.target == "stolen"]
    for code_of in named.removeprefix("  stolen: ").split(", "):
        assert f"{code_of}: " in drive("show", str(run_id)).finish()[1]
