"""A fleet of simulated hosts goes the same way as one of databases: processes, states, a report."""

import re
from collections import Counter
from pathlib import Path

import pytest

from dbcpu.config.inventory import read_inventory
from dbcpu.errors import UsageError
from dbcpu.store.campaigns import DONE, PLANNED, REFUSED
from dbcpu.store.database import open_store
from dbcpu.workflows.fleet.simulated import arguments, why_none
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


WRONG = {
    "simulated://this-vm?foo=1": "no option of a simulated target is called 'foo'",
    "simulated://this-vm?store=x.db": "no option of a simulated target is called 'store'",
    "simulated://this-vm?slow=abc": "slow=abc is no number from 0.01 to 100",
    "simulated://this-vm?slow=1000": "a host 1000 times slower is not between",
    "simulated://this-vm?noise": "noise has no value",
    "simulated://this-vm?noise=7": "such a host cannot be simulated: noise must be 0 to 0.2, and is 7.0",
    "simulated://this-vm?seed=-1": "seed=-1 is no whole number from 0",
    "simulated://this-vm?seed=1&seed=2": "has seed twice",
    "simulated://this-vm?run-effect=2": "run-effect=2 is no number from 0 to 0.5",
    "simulated://this-vm?workload=none": "there are cartesian, mixed and increment",
    "simulated://this-vm?hide-siblings=maybe": "hide-siblings=maybe is neither true nor false",
    "simulated://this-vm/x": "is no simulated://PRESET",
    "simulated://none": "no simulated host is called 'none'",
    "simulated://": "names no host; name a preset",
    "simulated://?noise=0.02": "names no host; name a preset",
}


@pytest.mark.parametrize("url", WRONG)
def test_a_url_that_cannot_be_simulated_says_why(url: str) -> None:
    assert WRONG[url] in why_none(url)


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("simulated://c4.4xlarge?hide-siblings=true", ["c4.4xlarge", "--hide-siblings"]),
        ("simulated://c4.4xlarge?hide-siblings=1", ["c4.4xlarge", "--hide-siblings"]),
        ("simulated://c4.4xlarge?hide-siblings", ["c4.4xlarge", "--hide-siblings"]),
        ("simulated://c4.4xlarge?hide-siblings=false", ["c4.4xlarge"]),
        ("simulated://?cores=8&bare-metal=", ["--cores", "8", "--bare-metal"]),
        ("simulated://this-vm?run-effect=0.02&workload=mixed&seed=7",
         ["this-vm", "--run-effect", "0.02", "--workload", "mixed", "--seed", "7"]),
    ],
)  # fmt: skip
def test_options_of_a_url_become_those_of_simulate(url: str, words: list[str]) -> None:
    assert (why_none(url), arguments(url, ())) == ("", words)


def test_check_refuses_what_a_campaign_refuses(drive: Drive, tmp_path: Path) -> None:
    given = inventory(tmp_path, slow="simulated://this-vm?slow=abc", none="simulated://", fine="simulated://this-vm")
    written = tmp_path / "checked.toml"
    code, out, err = drive("fleet", "check", given, "--write", str(written)).finish()
    assert (code, "3 targets: 2 cannot be examined" in out) == (3, True)
    assert f"dbcpu: {written} is without 2 targets that cannot be examined: slow and none\n" in err
    assert written.read_text().splitlines()[:2] == [
        "# left out, as it cannot be examined: slow", "# left out, as it cannot be examined: none",
    ]  # fmt: skip
    assert [each.name for each in read_inventory(written, None)] == ["fine"]
    _, _, err = drive("fleet", "run", given, "--campaign", "q4", *OPTIONS, "--failures", "100%", "--yes").finish()
    assert states(drive.store, "q4") == {"slow": REFUSED, "none": REFUSED, "fine": DONE}, err
    for line in (line for line in out.splitlines() if ": cannot be examined: " in line):
        assert line.replace("cannot be examined", "refused") in err


def test_targets_are_measured_once_and_refused_ones_again_only_if_told(drive: Drive, tmp_path: Path) -> None:
    given = inventory(tmp_path, a="simulated://this-vm?seed=1", b="simulated://this-vm?seed=2", gone="simulated://none")
    code, _, err = drive("fleet", "run", given, "--campaign", "q4", *OPTIONS, "--yes").finish()
    assert (code, states(drive.store, "q4")) == (3, {"a": DONE, "b": DONE, "gone": REFUSED}), err
    assert re.search(r"gone: refused: no simulated host is called 'none'", err)
    assert err.rstrip().endswith("go on: dbcpu fleet resume q4 --failed --yes"), "nobody may be there to be asked"
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
