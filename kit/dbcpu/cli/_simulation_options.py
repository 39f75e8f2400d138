"""The options of ``dbcpu simulate``: those that change the host, and those of the run."""

import functools
from collections.abc import Callable
from typing import Any, BinaryIO

import click

from dbcpu.cli._option_values import Duration, Number, of_percent
from dbcpu.cli._options import Function, together
from dbcpu.cli._refused_values import Label
from dbcpu.config.simulated_hosts import HOST_OPTIONS, Fields, HostOption
from dbcpu.errors import did_you_mean

MAX_SHAPE_BYTES = 100_000


_RUN_OPTIONS = (
    click.option("--sessions", default="auto", metavar="N", help="Concurrency levels, as for run.  [default: auto]"),
    click.option("--size", default="medium", show_default=True, metavar="NAME",
                 help="tiny, short, medium, long or seed."),
    click.option("--executions", type=click.IntRange(1, 10_000), metavar="N",
                 help="Executions per session. [default: 1]"),
    click.option("--seconds", type=Duration(), metavar="TIME", help="As many executions as one session does in TIME."),
    click.option("--for", "for_s", type=Duration(), metavar="TIME", help="Fixed time: executions start until then."),
    click.option("--repeats", type=click.IntRange(1, 1000), default=6, show_default=True, metavar="N",
                 help="Rounds per level; compare needs at least 6 a side."),
    click.option("--seed", type=click.IntRange(0), default=1, show_default=True, metavar="N", help="Random seed."),
    click.option("--run-effect", type=Number(0.0), default=0.0, metavar="SD",
                 help="Relative standard deviation of the speed of whole runs, 0 to 0.5; the seed draws it."),
    click.option("--label", type=Label(), default="", metavar="TEXT",
                 help="Label stored with the run.  [default: what the host is]"),
    click.option("--target", metavar="NAME",
                 help="Store the run under this target: one history for all options.  [default: the host's name]"),
    click.option("--variants", metavar="LIST",
                 help="Such as baseline,smt_off or node:0, taken in turns; then: dbcpu compare RUN."),
    click.option("--workload", metavar="NAME",
                 help="Work like cartesian, mixed (short waits) or increment (a shell that counts)."),
)  # fmt: skip


_EXPERIMENT_OPTIONS = (
    click.option("--soak", "soak_s", type=Duration(), metavar="TIME",
                 help="A soak of --sessions N, as by dbcpu soak."),
    click.option("--pool", type=click.IntRange(1), metavar="M",
                 help="M jobs through pools of --sessions K, as by dbcpu pool."),
    click.option("--blocking", type=click.IntRange(0), default=0, metavar="B",
                 help="With --pool: B of the jobs only wait."),
    click.option("--block-for", "block_s", type=Duration(3600.0), default=1.0, metavar="TIME",
                 help="How long each of these waits.  [default: 1s]"),
    click.option("--connections", type=click.IntRange(0, 1000), default=0, metavar="N",
                 help="With --pool: the jobs come as calls over N TCP connections."),
    click.option("--one-at-a-time", is_flag=True,
                 help="A connection sends its next call after the previous one is answered.  [default: all at once]"),
    click.option("--together", metavar="N:N",
                 help="Two databases or more at once, so many sessions of each, as by dbcpu run --together."),
    click.option("--cpus", multiple=True, metavar="CPUS",
                 help="With --together, once for each: the CPUs that its sessions may use."),
)  # fmt: skip


def simulation_options(function: Function) -> Function:
    """The parameters of ``simulate``, and those of ``_host_options`` and ``_experiment``."""
    return together(*_RUN_OPTIONS, _experiment, _host_options)(function)


def _experiment(function: Function) -> Function:
    """``experiment``: what the options say of a soak, a pool or several databases."""

    @functools.wraps(function)
    def collected(*args: Any, **given: Any) -> Any:
        from dbcpu.simulator import Experiment

        names = ("soak_s", "pool", "blocking", "block_s", "connections", "one_at_a_time", "together", "cpus")
        own = {name: given.pop(name) for name in names}
        return function(*args, experiment=Experiment(**own), **given)

    return together(*_EXPERIMENT_OPTIONS)(collected)  # type: ignore[return-value]


def _host_options(function: Function) -> Function:
    """``changes``: the fields that were given; ``words``: the options as they were given, as ``cores 4, steal 0.2``.

    An option of the command line counts before that of ``--shape``.
    """

    @functools.wraps(function)
    def collected(*args: Any, **given: Any) -> Any:
        of_file = _of_file(given.pop("shape"))
        texts = {option: given.pop(_key(option)) or of_file.get(option.name) for option in HOST_OPTIONS}
        used = {option: text for option, text in texts.items() if text}
        changes: Fields = {}
        for option, text in used.items():
            changes |= _fields(option, text)
        words = ", ".join(option.name[2:] + (f" {text}" if option.metavar else "") for option, text in used.items())
        return function(*args, changes=changes, words=words, **given)

    shape = click.option("--shape", type=click.File("rb"), metavar="FILE",
                         help="These options of the host from FILE (TOML): cores = 8, steal = 0.1.")  # fmt: skip
    return together(*map(_as_click, HOST_OPTIONS), shape)(collected)  # type: ignore[return-value]


def _of_file(shape: BinaryIO | None) -> dict[str, str]:
    """By option, the text that it would have on the command line. Raises click.BadParameter."""
    if shape is None:
        return {}
    import tomllib

    text = shape.read(MAX_SHAPE_BYTES + 1)
    try:
        if len(text) > MAX_SHAPE_BYTES:
            raise ValueError(f"is longer than {MAX_SHAPE_BYTES} bytes")
        found = tomllib.loads(text.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise _bad_shape(shape, f"is no TOML: {error}" if len(text) <= MAX_SHAPE_BYTES else str(error)) from None
    known = {option.name[2:]: option for option in HOST_OPTIONS}
    texts = {}
    for name, value in found.items():
        option = known.get(name)
        if option is None:
            raise _bad_shape(shape, f"has {name!r}{did_you_mean(name, known)}; there are: {', '.join(sorted(known))}")
        wanted = bool if not option.metavar else (int, float, str)
        if not isinstance(value, wanted) or (option.metavar and isinstance(value, bool)):
            raise _bad_shape(shape, f"has {name} = {value!r}; give {option.metavar or 'true or false'}")
        texts[option.name] = str(value) if option.metavar else "yes" if value else ""
    return texts


def _bad_shape(shape: BinaryIO, what: str) -> click.BadParameter:
    return click.BadParameter(f"{shape.name} {what}", param_hint="'--shape'")


def _fields(option: HostOption, text: str) -> Fields:
    try:
        return option.fields(text)
    except ValueError:
        raise click.BadParameter(
            f"{text!r} is {option.form}{of_percent(text)}.", param_hint=f"'{option.name}'"
        ) from None


def _key(option: HostOption) -> str:
    return f"host{option.name[1:].replace('-', '_')}"


def _as_click(option: HostOption) -> Callable[[Function], Function]:
    if not option.metavar:
        return click.option(option.name, _key(option), is_flag=True, help=option.help)
    return click.option(option.name, _key(option), metavar=option.metavar, help=option.help)
