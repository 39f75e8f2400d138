"""Options as decorators: those that several commands share, so that each has one meaning, and long lists of others."""

import functools
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import click
from click.core import ParameterSource

from dbcpu import registry
from dbcpu.cli import _completion
from dbcpu.cli._completion import offering
from dbcpu.cli._option_values import Duration, Format, Member, Number, WantedPace
from dbcpu.cli._refused_values import Label
from dbcpu.cli._written_path import RecordPath, WrittenPath
from dbcpu.config.origins import ORIGINS
from dbcpu.errors import DbcpuError, without_password
from dbcpu.formatting import listed
from dbcpu.record.plan import MAX_SESSIONS, QUICK

Function = TypeVar("Function", bound=Callable[..., Any])
DECLINED = "nothing was done: the answer was no"


def confirm(question: str, yes: bool) -> None:
    """Ask on standard error, unless ``yes``. Raises DbcpuError on no, click.UsageError when nobody can answer."""
    if yes:
        return
    if sys.stdin is not None and sys.stdin.isatty():
        if not click.confirm(question, err=True):
            raise DbcpuError(DECLINED)
        return
    answer = ""
    with suppress(OSError, ValueError):
        answer = sys.stdin.readline() if sys.stdin is not None else ""
    if answer:  # nobody is shown a question that cannot be answered
        click.echo(f"{question} [y/N]: {answer.strip()}", err=True)
    if answer.strip().lower() in ("n", "no"):
        raise DbcpuError(DECLINED)
    if answer.strip().lower() not in ("y", "yes"):
        raise click.UsageError("confirmation needed; give --yes if there is no terminal")


def together(*decorators: Callable[[Function], Function]) -> Callable[[Function], Function]:
    """Several decorators as one; the first is shown first in the help."""

    def decorate(function: Function) -> Function:
        return functools.reduce(lambda inner, decorator: decorator(inner), reversed(decorators), function)

    return decorate


def refuse_both(one: str, other: str, why: str) -> Callable[[Function], Function]:
    """Raises click.UsageError where both were given on the command line, defaults included; ``why`` not both."""

    def decorate(function: Function) -> Function:
        @functools.wraps(function)
        def checked(*args: Any, **given: Any) -> Any:
            context = click.get_current_context()
            if all(context.get_parameter_source(each) is ParameterSource.COMMANDLINE for each in (one, other)):
                first, second = (f"--{each.replace('_', '-')}" for each in (one, other))
                raise click.UsageError(f"{first} and {second} cannot be combined: {why}; leave one of them out")
            return function(*args, **given)

        return checked  # type: ignore[return-value]

    return decorate


format_option = click.option(
    "--format", "form", type=Format(), default="table", show_default=True, help="Output format."
)


def _none_is_single(_: click.Context, param: click.Parameter, value: tuple[str, ...]) -> tuple[str, ...]:
    if len(value) > 1 and "none" in value:
        raise click.BadParameter(f"none cannot be combined with other formats; found {', '.join(value)}", param=param)
    return value


def folder_option(*names: str, help_text: str) -> Callable[[Function], Function]:
    """A folder to write to, or None."""
    return click.option(*names, type=WrittenPath(file_okay=False, path_type=Path), metavar="DIR", help=help_text)


def out_option(help_text: str) -> Callable[[Function], Function]:
    """``out``: a folder, or None."""
    return folder_option("--out", "-o", help_text=help_text)


record_option = click.option(
    "--json", "json_file", type=RecordPath(dir_okay=False, allow_dash=True), metavar="FILE",
    help="Also write the record to FILE (.json or .json.gz); - is standard output.",
)  # fmt: skip


report_option = click.option(
    "--report", "formats", type=Format(pictures=True, none=True), multiple=True, callback=_none_is_single,
    metavar="FORMAT",
    help="Write only this (html, png, csv ... as dbcpu report --format) into the report's folder, or none.  "
    "Can be repeated.  [default: all but metrics]",
)  # fmt: skip

run_argument = click.argument("run", metavar="RUN", shell_complete=offering(_completion.runs))
"""``run``: a run_id, the beginning of one, ``last``, or a .json or .json.gz file."""
target_argument = click.argument("target", default="embedded", shell_complete=offering(_completion.targets))
"""``target``: a name of dbcpu.toml, a URL or a kind."""


def _warn_of_password(_: click.Context, __: click.Parameter, store: str | None) -> str | None:
    if store and without_password(store) != store:
        click.echo(
            "dbcpu: the password in --store is visible in the process list until this command ends; give the URL in "
            "DBCPU_STORE, or keep the password in ~/.pgpass",
            err=True,
        )
    return store


store_option = click.option(
    "--store",
    metavar="URL",
    callback=_warn_of_password,
    help="Store of the runs: a file (SQLite) or postgresql://user@host/database.  "
    "[default: $DBCPU_STORE, else ~/.local/share/dbcpu/runs.db]",
)
yes_option = click.option("--yes", "-y", is_flag=True, help="Do not ask for confirmation.")
brief_option = click.option("--brief", is_flag=True, help="Print only the answer, what helps, and one table.")
json_flag = click.option("--json", "as_json", is_flag=True, help="JSON instead of a table.")


_TALKING = (
    click.option("--quiet", "-q", is_flag=True, help="Print only the result."),
    click.option("--verbose", "-v", is_flag=True, help="Print the figures of each round when it ends."),
    click.option("--log-file", type=WrittenPath(dir_okay=False, path_type=Path), metavar="FILE",
                 help="Add all progress to FILE too, with the time, and the figures of each round."),
    brief_option,
    refuse_both("quiet", "verbose", "one prints only the result, the other each round"),
)  # fmt: skip


def talking_options(function: Function) -> Function:
    """``quiet verbose log_file brief``: how much a measuring command says."""
    return together(*_TALKING)(function)


def check_limit_option(name: str, help_text: str) -> Callable[[Function], Function]:
    """A limit of ``dbcpu check``: a number, 0 for none; None when it is not given."""
    return click.option(name, type=Number(0.0, 1e6), metavar="LIMIT", help=help_text)


class _TwoSpellings(click.Option):
    """An option that is also accepted in American spelling; the help shows the first spelling only."""

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        record = super().get_help_record(ctx)
        return record and (record[0].replace(f", {self.opts[1]}", ""), record[1])


def licence_option(help_text: str) -> Callable[[Function], Function]:
    """``licences``: names of licence rules, see docs/configuration.md."""
    return click.option(
        "--licence", "--license", "licences", cls=_TwoSpellings, metavar="RULE", multiple=True, help=help_text
    )


def shape_options(function: Function) -> Function:
    """``vcpus cores threads``: texts ``[NAME=]N`` for hosts that could not be looked at."""
    return together(
        click.option("--vcpus", multiple=True, metavar="[NAME=]N", help="vCPUs of a host that could not be looked at."),
        click.option("--cores", multiple=True, metavar="[NAME=]N", help="Cores behind them."),
        click.option("--threads-per-core", "threads", multiple=True, metavar="[NAME=]N",
                     help="The same as vCPUs per core. All three can be repeated; NAME is one of the runs."),
    )(function)  # fmt: skip


fail_on_option = click.option(
    "--fail-on",
    type=click.Choice(["never", "info", "warning", "problem", "inconclusive"]),
    default="never",
    show_default=True,
    help="Exit code 1 if there is a finding at or above this level; inconclusive: if the run gives no answer.",
)

host_option = click.option(
    "--host", metavar="ROUTE",
    help="How to read /proc of the database's host: local, ssh:NAME, k8s:NAMESPACE/POD, docker:NAME, podman:NAME, "
    "exec:COMMAND, sql (through the database) or none.  "
    "[default: the target's in dbcpu.toml, else auto]",
)  # fmt: skip
from_option = click.option(
    "--from", "origin", type=click.Choice(ORIGINS),
    help="Measure from here, by the dbcpu on the host of --host (there), or by the shell kit there.  "
    "[default: the target's in dbcpu.toml, else here]",
)  # fmt: skip
_sessions_option = click.option(
    "--sessions", "-n", metavar="N", default="auto", show_default=True,
    help="Concurrency levels: 4, 1-8 or 1,2,4,8; auto: adaptive; few: 1, cores, cores+1, vCPUs.",
)  # fmt: skip
workload_option = click.option(
    "--workload", "-w", metavar="NAME", shell_complete=offering(_completion.workloads),
    help="Workload, a file of sql/<database>/.  [default: cartesian; shell: increment]",
)  # fmt: skip
size_option = click.option(
    "--size", "-s", metavar="NAME", default="short", show_default=True, shell_complete=offering(_completion.sizes),
    help="Size of the workload: tiny, short, medium, long or seed.",
)  # fmt: skip
_AMOUNTS = (
    click.option("--executions", "-e", type=click.IntRange(1, 1_000_000), metavar="N",
                 help="Fixed work: executions per session."),
    click.option("--seconds", type=Duration(), metavar="TIME",
                 help="Fixed work: as many executions as a single session does in this time (90, 90s, 10m)."),
    click.option("--for", "for_s", type=Duration(), metavar="TIME",
                 help="Fixed time: executions start until this long after the release (90, 90s, 10m)."),
)  # fmt: skip


def repeats_option(default: int = QUICK) -> Callable[[Function], Function]:
    """``repeats``"""
    return click.option(
        "--repeats", "-r", type=click.IntRange(1, 1000), metavar="N", default=default, show_default=True,
        help="Rounds per level (auto adds some): 3 quick, 5 to call all levels equal, 6 for tests, 10 to compare "
        "hosts.",
    )  # fmt: skip


_aa_option = click.option(
    "--aa", is_flag=True, help="A/A test: measure the same configuration twice to estimate noise."
)


def sampling_options(hz: float = 20.0) -> Callable[[Function], Function]:
    """``host sampler hz pace vcpus cores threads_per_core label seed``: how a run is watched and called."""
    return together(
        host_option,
        click.option("--sampler", type=Member("measure.samplers"), metavar="NAME",
                     help="How to sample the server processes: "
                     f"{listed(registry.names('measure.samplers'), 'or')}.  [default: the best that works here]"),
        click.option("--hz", type=Number(0.1, 1000), default=hz, show_default=True, metavar="HZ",
                     help="Sampling rate per server process."),
        click.option("--pace", type=WantedPace(), default="auto", show_default=True, metavar="auto|off|HZ",
                     help="How often the speed of each CPU is measured meanwhile; it costs at most 1 % of each."),
        click.option("--vcpus", type=click.IntRange(1, MAX_SESSIONS), metavar="N",
                     help="Number of vCPUs of the database, if dbcpu cannot determine it; at most those of the host."),
        click.option("--cores", type=click.IntRange(1, MAX_SESSIONS), metavar="N",
                     help="Cores behind the vCPUs, where the host cannot be looked at (a managed database)."),
        click.option("--threads-per-core", type=click.IntRange(1, 8), metavar="N",
                     help="The same as vCPUs per core: 2 with SMT, 1 without."),
        click.option("--label", "-l", type=Label(), metavar="TEXT", default="", help="Label stored with the run."),
        click.option("--seed", type=click.IntRange(0, 2**32 - 1), metavar="N",
                     help="Random seed for the order of rounds.  [default: a new one, which is recorded]"),
    )  # fmt: skip


def watching_options(hz: float = 20.0) -> Callable[[Function], Function]:
    """What every measuring command has.

    ``host sampler hz pace vcpus cores threads_per_core label seed store out formats json_file yes quiet verbose
    log_file brief``
    """
    return together(
        sampling_options(hz),
        store_option,
        out_option("Folder of the report.  [default: reports/<run>]"),
        report_option,
        record_option,
        yes_option,
        *_TALKING,
    )


def _plan(repeats: int = QUICK) -> tuple[Callable[[Function], Function], ...]:
    return (_sessions_option, workload_option, size_option, *_AMOUNTS, repeats_option(repeats), _aa_option)


def measuring_options(repeats: int = QUICK) -> Callable[[Function], Function]:
    """The options of every measuring command, with the parameter names that follow; ``repeats`` by default.

    ``sessions workload size executions seconds for_s repeats aa host sampler hz pace vcpus cores threads_per_core label
    seed store out formats json_file yes quiet verbose log_file brief``; at most one of ``executions``, ``seconds`` and
    ``for_s`` is not None.
    """
    return lambda function: together(*_plan(repeats), watching_options())(_one_amount(function))


def plan_options(function: Function) -> Function:
    """Those that say what is measured and how, without where it is kept and shown: ``sessions`` to ``seed``."""
    return together(*_plan(), sampling_options())(_one_amount(function))


def plan_words(context: click.Context) -> tuple[str, ...]:
    """The options of ``plan_options`` that the user gave, as words of a command line; --host is not among them."""
    made: list[str] = []
    own = {each.name for each in click.command()(plan_options(lambda **_: None)).params} - {"host"}
    for parameter in context.command.params:
        name = parameter.name or ""
        if name in own and context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            value = context.params[name]
            if value is True:
                made.append(parameter.opts[0])
            elif name == "pace":
                made += [parameter.opts[0], {None: "auto", 0.0: "off"}.get(value, str(value))]
            else:
                made += [parameter.opts[0], str(value)]
    return tuple(made)


def _one_amount(function: Function) -> Function:
    @functools.wraps(function)
    def checked(*args: Any, **given: Any) -> Any:
        amounts = {"--executions": "executions", "--seconds": "seconds", "--for": "for_s"}
        used = [option for option, name in amounts.items() if given.get(name) is not None]
        if len(used) > 1:
            raise click.UsageError(f"{' and '.join(used)} contradict each other; give one of them")
        return function(*args, **given)

    return checked  # type: ignore[return-value]


MOST = 1_000_000_000


def newest_option(text: str) -> Callable[[Any], Any]:
    """``limit``: None where it was not given, 0 for all."""
    return click.option("--limit", type=click.IntRange(0, MOST), metavar="N", help=text)


_COUNT = click.IntRange(1, 65_536)

facts_options = together(
    click.option("--cpus", type=_COUNT, metavar="N", help="vCPUs of the host, of a CSV file."),
    click.option("--cores", type=_COUNT, metavar="N", help="Cores behind them."),
    click.option("--model", metavar="TEXT", help="CPU model."),
    click.option("--host", metavar="NAME", help="Name of the host.  [default: the file's]"),
    click.option("--kind", metavar="NAME", help="What did the work: a database or a program."),
    click.option("--workload", metavar="NAME", help="What the work was; only runs with the same name are compared."),
    click.option("--unit", metavar="UNIT", help="Unit of the rates, such as Mrows/s or loops/s."),
    click.option("--date", metavar="DATE", help="When it was measured, such as 2026-01-31."),
    click.option("--label", type=Label(), metavar="TEXT", help="Label stored with the run."),
)
"""``cpus cores model host kind workload unit date label``; None where not given."""


JOBS = ("work", "blocking", "block_s", "connections", "one_at_a_time")
"""The names of their parameters."""

job_options = together(
    click.option("--work", type=click.IntRange(1, 1_000_000), default=100, show_default=True, metavar="M",
                 help="Number of jobs (executions) in total."),
    click.option("--active", default="auto", show_default=True, metavar="K",
                 help="Pool sizes (active sessions): 10,100 or 1-8; auto: near the vCPUs, 10, and M."),
    click.option("--blocking", type=click.IntRange(0, 1_000_000), default=0, metavar="B",
                 help="B of the jobs only wait, as for a lock or a disk."),
    click.option("--block-for", "block_s", type=Duration(3600.0), metavar="TIME",
                 help="How long each of these waits.  [default: 1s]"),
    click.option("--connections", type=click.IntRange(0, 1000), default=0, metavar="N",
                 help="Send the jobs over N TCP connections."),
    click.option("--one-at-a-time", is_flag=True,
                 help="A connection sends its next call after the previous one is answered.  [default: all at once]"),
)  # fmt: skip
