"""The options of ``dbcpu simulate``: one table of those that change the host, and those of the run."""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import click

from dbcpu.cli._options import Duration, Function, together

Fields = dict[str, Any]


@dataclass(frozen=True, slots=True)
class HostOption:
    """``fields`` makes the fields of ``SimulatedHost`` from the text that was given; it raises ValueError, and
    ``form`` then says what the text is not. A flag has no ``metavar``, and its text is ''."""

    name: str
    metavar: str
    fields: Callable[[str], Fields]
    form: str
    help: str


def _of(field: str, kind: Callable[[str], Any]) -> Callable[[str], Fields]:
    return lambda text: {field: kind(text)}


def _turbo(text: str) -> Fields:
    if "," not in text and ":" not in text:
        return {"turbo_slope": float(text), "turbo_steps": ()}
    steps: list[tuple[int, float]] = []
    for part in text.split(","):
        ghz, colon, cores = part.partition(":")
        steps.append((int(cores) if colon else (steps[-1][0] if steps else 0) + 1, float(ghz)))
    return {"turbo_slope": 0.0, "turbo_steps": tuple(steps)}


def _efficiency_cores(text: str) -> Fields:
    cores, _, speed = text.partition(":")
    return {"efficiency_cores": int(cores), "efficiency_speed": float(speed)}


def _toggle(text: str) -> Fields:
    ratio, colon, state_s = text.partition(":")
    return {"toggle": float(ratio), **({"toggle_s": float(state_s)} if colon else {})}


HOST_OPTIONS = (
    HostOption("--cores", "N", _of("cores", int), "no whole number",
               "Cores per socket; without PRESET a plain host of so many cores."),
    HostOption("--threads", "N", _of("threads", int), "no whole number from 1 to 8", "Hardware threads per core."),
    HostOption("--efficiency-cores", "N:SPEED", _efficiency_cores, "not N:SPEED such as 8:0.6, SPEED from 0.1 to 1",
               "N of the cores have one thread and SPEED of the others' speed (P/E, big.LITTLE), such as 8:0.6."),
    HostOption("--yield", "SHARE", _of("smt_yield", float), "no number from -0.3 to 1",
               "What a second busy thread adds to its core, -0.3 to 1; each further one adds 60 % of that before it."),
    HostOption("--hide-siblings", "", lambda _: {"hidden_smt": True}, "", "The kernel shows threads as cores."),
    HostOption("--turbo", "SHARE|GHZ,...", _turbo,
               "neither a share such as 0.25 nor GHz such as 3.5,3.3 or 3.5:2,3.3:4,2.9",
               "Speed lost when all cores are busy, 0 to 0.9; or GHz with 1, 2, 3 ... busy cores: 3.5,3.3,3.1; "
               "or up to so many: 3.5:2,3.3:4,2.9."),
    HostOption("--bare-metal", "", lambda _: {"hypervisor": None}, "",
               "No hypervisor: the frequency can be measured, as in no guest."),
    HostOption("--noise", "SD", _of("noise", float), "no number from 0 to 0.2",
               "Relative standard deviation of a session's work, 0 to 0.2."),
    HostOption("--steal", "SHARE", _of("steal", float), "no number from 0 to 0.9",
               "Share of a busy CPU that the hypervisor takes, 0 to 0.9."),
    HostOption("--quota", "CPUS", _of("quota_cpus", float), "no number from 0.01",
               "CPU quota of all sessions together, such as 1.5."),
    HostOption("--neighbour", "SHARE", _of("noisy_neighbour", float), "no number from 0 to 1",
               "Another process, bound to CPU 0, wants it for this share of the time, 0 to 1."),
    HostOption("--toggle", "RATIO[:SECONDS]", _toggle, "not RATIO or RATIO:SECONDS such as 1.8:0.2, RATIO from 1 to 4",
               "Each CPU is by turns RATIO times slower, as by a stranger on its core; a state lasts SECONDS (0.2)."),
    HostOption("--scheduler", "NAME", _of("scheduler", str), "", "frozen, sticky, rotating or smt_balancing."),
)  # fmt: skip


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
    click.option("--run-effect", type=float, default=0.0, metavar="SD",
                 help="Relative standard deviation of the speed of whole runs, 0 to 0.5; the seed draws it."),
    click.option("--label", default="", metavar="TEXT", help="Label stored with the run.  [default: what the host is]"),
    click.option("--variants", metavar="LIST", help="baseline,smt_off: alternate both; then: dbcpu compare RUN."),
)  # fmt: skip


def simulation_options(function: Function) -> Function:
    """The parameters of ``simulate``, and those of ``_host_options``."""
    return together(*_RUN_OPTIONS, _host_options)(function)


def _host_options(function: Function) -> Function:
    """``changes``: the fields that were given; ``words``: the options as they were given, as ``cores 4, steal 0.2``."""

    @functools.wraps(function)
    def collected(*args: Any, **given: Any) -> Any:
        texts = {option: given.pop(_key(option)) for option in HOST_OPTIONS}
        used = {option: text for option, text in texts.items() if text}
        changes: Fields = {}
        for option, text in used.items():
            changes |= _fields(option, text)
        words = ", ".join(option.name[2:] + (f" {text}" if option.metavar else "") for option, text in used.items())
        return function(*args, changes=changes, words=words, **given)

    return together(*map(_as_click, HOST_OPTIONS))(collected)  # type: ignore[return-value]


def _fields(option: HostOption, text: str) -> Fields:
    try:
        return option.fields(text)
    except ValueError:
        raise click.BadParameter(f"{text!r} is {option.form}.", param_hint=f"'{option.name}'") from None


def _key(option: HostOption) -> str:
    return f"host{option.name[1:].replace('-', '_')}"


def _as_click(option: HostOption) -> Callable[[Function], Function]:
    if not option.metavar:
        return click.option(option.name, _key(option), is_flag=True, help=option.help)
    return click.option(option.name, _key(option), metavar=option.metavar, help=option.help)
