import os
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from dbcpu.cli import compare, main, report, show
from dbcpu.cli._option_values import Duration
from dbcpu.cli._options import confirm, licence_option, measuring_options

CLOSED = [
    (("run", "--out"), "closed/a/b", "nothing may be written in {}/closed"),
    (("simulate", "--json"), "closed/run.json", "nothing may be written in {}/closed"),
]


@click.command()
@measuring_options()
def measure(**given: Any) -> None:
    click.echo(repr(given))


def run(*arguments: str) -> Any:
    result = CliRunner().invoke(measure, arguments)
    return eval(result.stdout, {"inf": float("inf"), "PosixPath": Path}) if result.exit_code == 0 else result  # noqa: S307 - its own repr


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90", 90.0), ("90s", 90.0), ("0.5", 0.5), ("500ms", 0.5), ("10m", 600.0), ("1h30m", 5400.0), ("1.5H", 5400.0),
     ("2d", 172800.0), ("30d", 2592000.0), (" 7 ", 7.0)],
)  # fmt: skip
def test_duration_is_seconds(text: str, seconds: float) -> None:
    assert Duration().convert(text, None, None) == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["", "s", "ten", "-5", "5x", "1m 30s", "nan", "inf", "1e3", "5s3", "\N{DIGIT ONE}0:5"])
def test_text_that_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(click.BadParameter, match="is not a duration; give 90, 90s, 10m or 1h30m"):
        Duration().convert(text, None, None)


@pytest.mark.parametrize("text", ["0", "0ms", "31d", "999999999999h"])
def test_absurd_durations_are_refused(text: str) -> None:
    with pytest.raises(click.BadParameter, match="is not above 0 and at most 30 days"):
        Duration().convert(text, None, None)


def test_measuring_options_have_the_promised_names() -> None:
    given = run()
    assert set(given) == {
        "sessions", "workload", "size", "executions", "seconds", "for_s", "repeats", "sampler", "hz", "pace", "vcpus",
        "cores", "threads_per_core", "aa", "host", "label", "seed", "store", "out", "formats", "json_file", "yes",
        "quiet", "verbose", "log_file", "brief",
    }  # fmt: skip
    assert (given["sessions"], given["repeats"], given["hz"]) == ("auto", 3, 20.0)
    assert run("--for", "10m", "--json", "-")["for_s"] == 600.0


@pytest.mark.parametrize(
    "arguments",
    [("--for", "1m", "--seconds", "5"), ("--executions", "2", "--for", "1s"), ("--executions=1", "--seconds=1")],
)
def test_amounts_of_work_that_contradict_each_other_are_refused(arguments: tuple[str, ...]) -> None:
    result = run(*arguments)
    assert result.exit_code == 2
    assert "contradict each other; give one of them" in result.stderr


@pytest.mark.parametrize(
    "arguments",
    [("--executions", "0"), ("--executions", "-3"), ("--repeats", "0"), ("--hz", "0"), ("--hz", "nan"),
     ("--vcpus", "0"), ("--vcpus", "99999"), ("--seed", "-1"), ("--sampler", "guess"), ("--for", "0")],
)  # fmt: skip
def test_absurd_numbers_and_unknown_names_are_refused(arguments: tuple[str, ...]) -> None:
    result = run(*arguments)
    assert result.exit_code == 2
    assert f"Invalid value for '{arguments[0]}'" in result.stderr


@pytest.mark.parametrize(("typed", "said", "refused"), [
    ("y\n", "went on", ""), ("n\n", "", "the answer was no"), ("", "", "give --yes"), ("what?\n", "", "give --yes"),
])  # fmt: skip
def test_nothing_goes_on_unconfirmed(typed: str, said: str, refused: str) -> None:
    @click.command()
    def ask() -> None:
        confirm("Really?", yes=False)
        click.echo("went on")

    result = CliRunner().invoke(ask, input=typed)
    assert result.stdout.strip() == said
    assert ("Really?" in result.stderr) is bool(typed), "nobody is shown what cannot be answered"
    assert refused in f"{result.stderr}{result.exception}"


@click.command()
@licence_option("Licence rule.")
def count(licences: tuple[str, ...]) -> None:
    click.echo(",".join(licences))


def test_both_spellings_of_licence_are_one_option() -> None:
    result = CliRunner().invoke(count, ["--license", "a", "--licence", "b", "--license=c"])
    assert result.stdout == "a,b,c\n"


@pytest.mark.parametrize(
    "command", [compare.command, report.command, show.command], ids=lambda each: each.callback.__module__
)
def test_the_help_shows_one_spelling_of_licence(command: click.Command) -> None:
    text = command.get_help(click.Context(command))
    assert "--licence RULE" in text
    assert "--license" not in text
    assert any("--license" in option.opts for option in command.params)


@pytest.mark.skipif(os.geteuid() != 0, reason="this machine's user may not give links to another user")
@pytest.mark.parametrize(
    ("command", "option"),
    [
        *((command, option) for command in ("run", "soak", "pool", "vary", "more") for option in ("--json", "--out")),
        *((command, "--out") for command in ("compare", "show", "report", "list")),
    ],
)
def test_a_link_of_another_user_is_refused_before_anything_is_measured(
    command: str, option: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "own").mkdir()
    (tmp_path / "link").symlink_to("own")
    os.chown(tmp_path / "link", 65534, 65534, follow_symlinks=False)
    place = tmp_path / "link" / "x.json" if option == "--json" else tmp_path / "link"
    assert main([command, option, str(place), "no-such-thing"]) == 3
    assert capsys.readouterr().err.startswith(f"dbcpu: {tmp_path}/link is a link of user ")


@pytest.mark.parametrize("words", [("run", "--out"), ("run", "--json"), ("run", "--log-file"), ("export", "--csv")])
def test_an_empty_place_is_not_the_current_folder(words: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*words, ""]) == 2
    assert "it is empty; give a path" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "place", "why"),
    [
        (("run", "--json"), "missing/run.json", "there is no folder {}/missing"),
        (("run", "--log-file"), "file/run.log", "{}/file is no folder"),
        (("run", "--out"), "file/a/b", "{}/file is no folder"),
    ],
)
def test_where_nothing_can_be_written_is_said_before_anything_is_measured(
    words: tuple[str, ...], place: str, why: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    assert main([*words, str(tmp_path / place)]) == 2
    assert f"cannot be written: {why.format(tmp_path)}; give another place" in capsys.readouterr().err


def test_a_record_of_a_form_that_there_is_not_is_refused_before_anything_is_measured(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for command in ("run sqlite --dry-run", "soak sqlite", "simulate"):
        assert main([*command.split(), "--json", str(tmp_path / "x.txt")]) == 2
        assert "x.txt' does not end in .json or .json.gz" in capsys.readouterr().err


@pytest.mark.parametrize(("words", "place", "why"), CLOSED)
def test_where_this_user_may_not_write_is_said_too(
    owner_rights: None, words: tuple[str, ...], place: str, why: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "closed").mkdir(mode=0o555)
    assert main([*words, str(tmp_path / place)]) == 2
    assert f"cannot be written: {why.format(tmp_path)}; give another place" in capsys.readouterr().err


@pytest.mark.parametrize("option", ["--json", "--out", "--log-file"])
def test_what_is_there_may_be_replaced_and_added_to(option: str, tmp_path: Path) -> None:
    place = tmp_path / "made"
    place.mkdir() if option == "--out" else place.touch()
    assert run(option, str(place))


@pytest.mark.parametrize(
    "words", [("run", "--out"), ("run", "--json"), ("export", "--all", "--parquet"), ("list", "--history", "--out")]
)
def test_a_url_is_no_place_to_write_to_and_its_password_is_not_repeated(
    words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*words, "postgresql://me:geheim@db1/runs"]) == 2
    err = capsys.readouterr().err
    assert "a place on this machine was expected, and not postgresql://***" in err
    assert "geheim" not in err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["compare", "a", "b", "--size-for", "x"], "'x' is not a whole number from 1 to 100000"),
        (["run", "--repeats", "0"], "'0' is not a whole number from 1 to 1000"),
        (["list", "--limit", "x"], "'x' is not a whole number from 0"),
    ],
)
def test_a_number_out_of_range_is_refused_in_words(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Click says `not a valid integer range`, and `1<=x<=1000`."""
    assert main(arguments) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    "words", ["run sqlite", "run sqlite --dry-run", "vary --variants spread --dry-run", "soak", "pool", "more last"]
)
def test_quiet_and_verbose_do_not_go_with_each_other(
    words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DBCPU_STORE", str(tmp_path / "runs.db"))
    assert main([*words.split(), "--quiet", "--verbose"]) == 2
    assert "--quiet and --verbose cannot be combined: one prints only the result" in capsys.readouterr().err


def test_a_variant_without_its_option_is_refused_with_the_right_form(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["vary", "embedded", "cpus:0,2", "spread"]) == 2
    assert "Missing option '--variants'; give --variants cpus:0,2,spread" in capsys.readouterr().err
    assert main(["vary", "embedded"]) == 2
    assert "Missing option '--variants'.\n" in capsys.readouterr().err
