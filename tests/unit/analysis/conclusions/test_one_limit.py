"""Headline, verdict and advice of a run name one limit beyond which sessions lose, whatever bounds them."""

import functools
import re
import shlex

import click
import pytest

from dbcpu.analysis.conclusions.headline import headline
from dbcpu.analysis.explain import explain
from dbcpu.analysis.results.answer import Answer, Outcome
from dbcpu.analysis.results.run import Analysis
from dbcpu.cli._simulation_options import simulation_options
from dbcpu.record.rounds import RunRecord
from dbcpu.simulator import simulate_now

WAITS = "--cores 4 --waits 0.5 --sessions 1,2,4,6,8,12"
WAITS_UNDER_QUOTA = "--cores 8 --quota 6.2 --waits 0.5 --sessions 1,4,8,12,16"
HOSTS = {
    WAITS: "6",
    WAITS_UNDER_QUOTA: "12",
    "--cores 4 --waits 0.5 --sessions 1,6,8": "6",
    "--cores 4 --waits 0.3 --sessions 1-8": "5",
    "--cores 2 --threads 2 --waits 0.5 --sessions 1,2,3,4,5,6,8": "4",
    "--cores 4 --quota 3 --waits 0.4 --sessions 1-8": "5",
    "--cores 4 --sessions 1-8": "4",
    "--cores 4 --sessions 1,2,6,8": "4",
    "--cores 4 --sessions 1,6,8": "4",
    "--cores 8 --quota 6 --sessions 1-10": "the CPU quota of 6",
    "--cores 8 --quota 6.2 --sessions 1-10": "the CPU quota of 6.2",
    "--cores 4 --threads 2 --quota 7 --sessions 1,4,8": "the CPU quota of 7",
    "--cores 4 --threads 2 --quota 2 --sessions 1-6": "the CPU quota of 2",
    "--cores 4 --threads 2 --quota 5 --sessions 1-8": "the CPU quota of 5",
    "--cores 4 --threads 2 --quota 6.2 --waits 0.5 --sessions 8,12,16": "8",
    "--cores 4 --quota 3.9 --sessions 1-6": "4",
    "--cores 4 --quota 3.9 --sessions 1,5,6": "the CPU quota of 3.9",
    "--cores 4 --quota 2.5 --sessions 1-6": "the CPU quota of 2.5",
    "--cores 4 --quota 1 --sessions 1-4": "the CPU quota of 1",
    "--cores 4 --quota 0.5 --sessions 1-3": "the CPU quota of 0.5",
    "--cores 4 --turbo 0.3 --sessions 1-6": "4",
    "--cores 1 --sessions 1-3": "1",
    "--cores 3 --quota 2.6 --waits 0.5 --repeats 4 --seed 54 --sessions 1,3,5,6,7": "5",
    "--cores 8 --waits 0.6 --repeats 4 --seed 10 --sessions 1,8,10,16,17,22": "17",
}
"""Options of ``dbcpu simulate``, and the limit that is named."""
LIMIT = re.compile(r"\babove (?:the (?=\d))?(the CPU quota of \d+(?:\.\d+)?|\d+)\b", re.IGNORECASE)
UP_TO = re.compile(r"\bup to (\d+) sessions?\b", re.IGNORECASE)


@click.command()
@click.argument("preset", required=False)
@simulation_options
def simulated(preset: str | None, **given: object) -> RunRecord:
    return simulate_now(preset, **given)  # type: ignore[arg-type]


@functools.cache
def explained(options: str) -> Analysis:
    return explain(simulated.main(args=shlex.split(options), standalone_mode=False))


@pytest.mark.parametrize(("options", "limit"), HOSTS.items())
def test_headline_and_verdict_name_the_same_limit(options: str, limit: str) -> None:
    """A headline names it only where nothing is lost before."""
    found = explained(options)
    short = headline(found)
    assert set(LIMIT.findall(found.verdict)) == {limit}
    assert LIMIT.findall(short.headline) == ([limit] if short.kind is Outcome.PARTLY else [])
    assert UP_TO.findall(short.headline) == UP_TO.findall(found.verdict)[:1]


def test_of_work_that_waits_the_limit_is_the_last_level_at_full_speed() -> None:
    """The verdict named the 4 vCPUs, beside 6 sessions at full speed."""
    found = explained(WAITS)
    assert headline(found).headline == "Yes up to 6 sessions; above 6 they take turns"
    assert "; above 6 they take turns: at 12 sessions" in found.verdict


@pytest.mark.parametrize(("options", "short", "said"), [
    (
        "--cores 4 --threads 2 --quota 7 --sessions 1,4,8",
        "Yes up to 4 sessions; above the CPU quota of 7 they are slower (shared core and CPU quota)",
        "Above the CPU quota of 7: at 8 sessions all are equally slow, with a slowdown of 1.71x (shared core: ",
    ),
    (
        "--cores 6 --quota 4 --turbo 0.3 --sessions 1,5 --seed 23",
        "No: above the CPU quota of 4 they are slower (slower CPU and CPU quota)",
        "Above the CPU quota of 4: at 5 sessions all are equally slow, with a slowdown of 1.63x (slower CPU: ",
    ),
    (
        WAITS_UNDER_QUOTA,
        "Yes up to 12 sessions; above 12 they take turns",
        "above 12 they take turns: at 16 sessions the median slowdown is 1.28x (run-queue wait, and CPU quota as well)",
    ),
])  # fmt: skip
def test_sessions_take_turns_only_where_they_wait_for_a_cpu(options: str, short: str, said: str) -> None:
    """Of 8 sessions on 8 vCPUs that shared cores under a quota it was said, and no cause was named."""
    found = explained(options)
    assert headline(found).headline == short
    assert said in found.verdict


def test_where_work_that_waits_shares_cores_under_a_quota_advice_is_against_both() -> None:
    found = headline(explained("--cores 4 --threads 2 --quota 6.2 --waits 0.5 --sessions 8,12"))
    assert found.headline == "Yes up to 8 sessions; above 8 they are slower (shared core and CPU quota)"
    assert found.remedy.startswith("run no more than 8 such sessions, or add cores. Against CPU quota: raise `cpu.max`")


@pytest.mark.parametrize(("options", "short"), [
    ("--cores 8 --quota 6 --sessions 1-10", "they are throttled, in unequal shares at N=9-10"),
    ("--cores 4 --sessions 1,2,6,8", "they take turns, in unequal shares at N=6"),
    ("--cores 4 --sessions 1,2,6", "shares are unequal"),
])  # fmt: skip
def test_the_headline_says_at_which_levels_shares_are_unequal(options: str, short: str) -> None:
    """That shares are unequal above a quota was said of four equal levels and two unequal ones."""
    found = explained(options)
    assert headline(found).headline.endswith(f" {short}")
    where = short.partition("in unequal shares")[2]
    assert f"shares are unequal{where}: at " in found.verdict


def test_against_a_quota_so_many_sessions_are_advised_as_kept_their_speed() -> None:
    """No more sessions than a quota of 6.2 allows were advised, where 12 had full speed."""
    found = explained(WAITS_UNDER_QUOTA)
    remedies = {each.code: each.remedy for each in found.findings}
    assert remedies["throttled"].endswith("or run no more than 12 such sessions")
    assert remedies["oversubscribed"].startswith("run no more than 12 such sessions")
    assert "the quota allows" not in headline(found).remedy


@pytest.mark.parametrize(("options", "fit"), [
    ("--cores 3 --quota 2.9 --waits 0.6 --repeats 4 --seed 18 --sessions 1,4,6,9",
     "7 such sessions, shown at full speed up to 6"),
    ("--cores 3 --quota 2.6 --waits 0.5 --repeats 4 --seed 54 --sessions 1,3,5,6,7", "5 such sessions"),
    ("--cores 8 --quota 2.1 --waits 0.3 --seed 35 --sessions 1,3,10,15,18,20", "3 such sessions"),
    ("--cores 4 --quota 3.5 --waits 0.6 --seed 7 --sessions 1,2,3,7,11",
     "9 such sessions, shown at full speed up to 7"),
])  # fmt: skip
def test_all_advice_against_a_quota_is_one_number_of_sessions(options: str, fit: str) -> None:
    """Six and five were advised of one run, 3 and 4, and 7 and 10: sessions were taken for CPUs, or vCPUs for these."""
    found = explained(options)
    remedies = [each.remedy for each in found.findings if each.code in ("throttled", "oversubscribed")]
    advice = [*remedies, headline(found).remedy]
    assert remedies
    assert [re.findall(r"run no more than (\d+ such sessions(?:, shown at full speed up to \d+)?)", each)
            for each in advice] == [[fit]] * len(advice)  # fmt: skip


def test_a_quota_that_stops_work_that_never_waits_keeps_its_remedy() -> None:
    remedies = {each.code: each.remedy for each in explained("--cores 4 --quota 2.5 --sessions 1-6").findings}
    assert remedies["throttled"].endswith("run no more sessions than the quota allows")


@pytest.mark.parametrize(("host", "code", "limit"), [
    ("--together 4:6", "oversubscribed", "8 such sessions, shown at full speed up to 6 and inconclusive beyond"),
    ("--together 2:6 --quota 3 --seed 4", "throttled", "6 such sessions"),
])  # fmt: skip
def test_of_targets_together_advice_knows_what_each_alone_was_shown(host: str, code: str, limit: str) -> None:
    """Up to 1 session was said to be at full speed: those of one target were undecided, six of the other were fine."""
    found = explained(f"--cores 4 --waits 0.5 --repeats 3 {host}")
    (six,) = [each for each in found.levels if (each.variant, each.level) == ("database-2", 6)]
    assert (six.even, six.full_speed) == (Answer.YES, Answer.YES)
    (advice,) = [each.remedy for each in found.findings if each.code == code]
    assert f"run no more than {limit}" in advice
    assert advice in headline(found).remedy
