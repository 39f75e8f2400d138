"""Command lines, and what users write into dbcpu.toml."""

from functools import cache
from typing import Any

import click
from hypothesis import strategies as st

from dbcpu import cli
from fuzz.mutations import NUMBERS, TEXTS, mutated_lines
from fuzz.sandbox import Sandbox
from support.builders.record import record, solos
from support.paths import HOSTS
from support.record_data import text_of

MUCH = {"--sessions": 400, "--repeats": 12, "--executions": 50, "--seconds": 10, "--for": 10}
"""More than that is simulated and explained for longer than the limit of CPU time, as it should be."""

_WORDS = st.one_of(
    TEXTS.filter(lambda text: "\0" not in text),  # no argument of a process holds one
    NUMBERS.map(repr),
    st.sampled_from(
        ["run.json", "20261101-120000-test", "2026", "last:baseline", "label:x", "label:", "last,last", "last=last",
         "embedded", "sqlite", "shell", "postgresql", "oracle", "nothing", "few", "auto", "1-4", "1,2,4", "8-1", "90s",
         "1h30m", "0s", "31d", "spread,pack", "cpus:0-3", "cpus:", "node:x", "smt_off", "policy:batch", "cage:2",
         "postgresql://h/d?sslmde=require", "postgresql://u:p@h:99999/d", "postgresql://[::1", "oracle+oracledb://x",
         "sqlite:///:memory:", "shell:////bin/true", "mysql://h/d", "postgresql://h/d?password=a&PASSWORD=b",
         "ssh:", "ssh:x y", "ssh:-oProxyCommand=x",
         "ssh:a$(b)", "k8s:prod/-x", "k8s:a/b/c", "docker:-v", "docker:a", "exec:", "exec:'", "exec:true",
         "sql", "none", "local", ".", "/proc", "runs.db",
         "/nowhere/x.db", "x" * 300 + ".json", "a/" * 300, "\udcff\udcfe", "caf\udce9.json", "json", "csv", "table",
         "html", "metrics", "markdown", "c4.4xlarge", "oracle-cloud-ee", "--", "-", "-h",
         str(HOSTS / "two-sockets.tar.gz")]
    ),
)  # fmt: skip


@cache
def _options() -> dict[str, list[click.Parameter]]:
    """The parameters of each command, those of groups below it with a blank in the name."""
    context = click.Context(cli.group)
    found: dict[str, list[click.Parameter]] = {}
    for name in cli.group.list_commands(context):
        command = cli.group.get_command(context, name)
        assert command is not None
        found[name] = list(command.params)
        if isinstance(command, click.Group):
            found.update({f"{name} {inner}": list(one.params) for inner, one in command.commands.items()})
    return found


@st.composite
def command_lines(draw: Any) -> list[str]:
    """A command with some of its options, in any order, with words that fit and words that do not."""
    name = draw(st.sampled_from(sorted(_options())))
    parameters = _options()[name]
    parts: list[list[str]] = []
    for _ in range(draw(st.integers(0, 4))):
        option = draw(st.sampled_from(parameters)) if parameters else None
        if option is None or isinstance(option, click.Argument):
            parts.append([draw(_WORDS)])
        elif getattr(option, "is_flag", False):
            parts.append([draw(st.sampled_from(option.opts))])
        else:
            choices = getattr(option.type, "choices", None)
            value = draw(st.sampled_from(list(choices))) if choices and draw(st.booleans()) else draw(_WORDS)
            parts.append([draw(st.sampled_from(option.opts)), str(value)])
    return [*name.split(), *(word for part in parts for word in part if name != "simulate" or not _is_much(part))]


def _is_much(part: list[str]) -> bool:
    if part[0] not in MUCH:
        return False
    return part[-1] in ("90s", "1h30m") or (part[-1].isdecimal() and int(part[-1]) > MUCH[part[0]])


def run_command_line(box: Sandbox, words: list[str]) -> None:
    box.tidy(with_run=True)
    (box.work / "run.json").write_text(_small())
    box.command(*words)


_TOML = """[targets.old-box]
url = "postgresql://bench@db1.example/postgres"
password_env = "BENCH_PASSWORD"

[targets.new-box]
url = "postgresql://bench@db2.example:5433/postgres?sslmode=require"
host = "ssh:db2.example"
password_file = "~/.bench-password"

[licences.mine]
per = "vcpu"
factor = 0.5
factor_smt = 1
most = 8
least = 2
when = "smt"
models = { POWER = 1.0 }
targets = ["db1"]
databases = ["postgresql"]
unit = "licence"
dated = 2026-01-15
source = "a contract"

[prices.mine]
per = "vcpu"
amount = 0.5
currency = "EUR"
period = "hour"
targets = ["old-box"]
dated = 2026-01-15
source = "a contract"

[check]
slowdown = 1.25
max_over_min = "off"
runs = 20
steal = 0.05
"""
_NESTED = st.sampled_from(
    ["[" * 3000, "x = " + "[" * 3000, "a." * 150 + "a = 1", "x = " + "9" * 5000, "x = 2026-13-45", "x = 25:99:00",
     "x = 0x" + "f" * 5000, "x = nan", "[check]\nslowdown = inf", "targets = 1", "[[targets]]", "x = '''", "\ufeff"]
)  # fmt: skip


@st.composite
def toml_files(draw: Any) -> tuple[str, list[str]]:
    """A file, and the command that reads it."""
    text = mutated_lines(draw, _TOML, ' ="[].:/', most=4)
    if draw(st.integers(0, 5)) == 0:
        text += draw(_NESTED)
    command = draw(
        st.sampled_from([["run", "old-box"], ["run", "new-box", "--host", "none"], ["check", "run.json"],
                         ["show", "run.json", "--licence", "mine"], ["compare", "run.json", "run.json"]])
    )  # fmt: skip
    return text, command


def read_toml(box: Sandbox, given: tuple[str, list[str]]) -> None:
    box.tidy()
    text, command = given
    (box.work / "dbcpu.toml").write_text(text, "utf-8", errors="replace")
    (box.work / "run.json").write_text(_small())
    box.command(*command)


@cache
def _small() -> str:
    return text_of(record(solos(2)))
