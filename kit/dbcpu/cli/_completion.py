"""What the shell may offer for a value: runs, targets, workloads, sizes. A source that cannot be read offers nothing.

Source: click documentation, "Shell Completion"
"""

from collections.abc import Callable, Iterable

import click
from click.shell_completion import CompletionItem

from dbcpu import registry

MAX_RUNS = 50
Source = Callable[[click.Context], Iterable[tuple[str, str]]]
Complete = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


def offering(source: Source) -> Complete:
    """``source`` gives (value, help) pairs."""

    def complete(context: click.Context, parameter: click.Parameter, begun: str) -> list[CompletionItem]:
        try:
            found = [*source(context)]
        except Exception:
            # The line that is being typed must not be broken by a store or file that cannot be read.
            return []
        return [CompletionItem(value, help=about or None) for value, about in found if value.startswith(begun)]

    return complete


def runs(context: click.Context) -> Iterable[tuple[str, str]]:
    """``last``, and the newest runs of the store."""
    from dbcpu.store.database import open_store

    yield "last", "the newest run"
    with open_store(context.params.get("store"), create=False) as store:
        for each in store.list(limit=MAX_RUNS):
            yield each.run_id, f"{each.target} {each.label}".rstrip()


def targets(_: click.Context) -> Iterable[tuple[str, str]]:
    """Names of dbcpu.toml, and kinds."""
    from dbcpu.config.targets import targets as configured

    yield from ((name, "of dbcpu.toml") for name in configured())
    yield from ((kind, "") for kind in registry.all_names("targets"))


def workloads(_: click.Context) -> Iterable[tuple[str, str]]:
    """Of every kind of target: to know the kind of this one could mean to ask for its password."""
    from dbcpu.measure.workloads import names

    kinds: dict[str, list[str]] = {}
    for kind in registry.names("targets"):
        for name in names(kind):
            kinds.setdefault(name, []).append(kind)
    yield from ((name, ", ".join(kinds[name])) for name in sorted(kinds))


def sizes(_: click.Context) -> Iterable[tuple[str, str]]:
    """As most workloads have them."""
    from dbcpu.measure.workloads import SIZES

    yield from ((size, "") for size in SIZES)


def presets(_: click.Context) -> Iterable[tuple[str, str]]:
    """Hosts of ``dbcpu simulate``."""
    from dbcpu.simulator.presets import presets as all_presets

    yield from ((name, host.about) for name, host in all_presets().items())
