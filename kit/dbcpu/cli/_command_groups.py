"""The commands of ``dbcpu`` in the groups of its help, what a mistyped one may have meant, and variants in help."""

import re

import click

from dbcpu import registry
from dbcpu.errors import did_you_mean

GROUPS = {
    "Measure": {
        "run": "Measure a database at several concurrency levels.",
        "vary": "Measure it under other settings of its host, restored afterwards.",
        "soak": "Run N sessions for a long time: do times drift?",
        "pool": "Run the same jobs through pools of different size.",
        "more": "Add rounds to a run: those left, or those that would decide.",
        "simulate": "Simulate a host and measure it.",
    },
    "Many hosts": {
        "fleet": "Measure many databases by one plan.",
    },
    "Look at results": {
        "show": "Show which sessions of a run were slowed, and why.",
        "compare": "Compare hosts, settings or dates; size a new host.",
        "check": "Check a run against limits and its history.",
        "list": "List the stored runs, or their figures over time.",
        "report": "Write the report of a run: HTML page, charts, CSV ...",
    },
    "Keep results": {
        "import": "Add runs from files to the store.",
        "export": "Write the record of a run, a trace, or runs as tables.",
        "delete": "Delete runs from the store.",
        "store": "Maintain the store of runs.",
    },
    "Look at a host": {
        "doctor": "Check a target and its host before a run.",
        "topology": "Show sockets, cores, SMT siblings and limits of a host.",
        "restore": "Restore settings that a killed run changed; end a server it left.",
    },
}
"""Commands with their short help, by group: kept here, so that help need not load them all."""


class Commands(click.Group):
    """The commands found in this folder; one is loaded when it is used, or when help names it."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        names = [name.replace("_", "-") for name in registry.names("cli")]
        known = [name for group in GROUPS.values() for name in group]
        return sorted(names, key=lambda name: (known.index(name) if name in known else len(known), name))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        from dbcpu.cli import load_command

        if cmd_name not in self.list_commands(ctx):
            return None
        command = load_command(cmd_name.replace("-", "_")).command
        command.short_help = command.short_help or self._short(cmd_name)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Raises click.UsageError for an unknown command, with the one that looks most like it."""
        if args and not args[0].startswith("-") and args[0] not in self.list_commands(ctx):
            ctx.fail(f"no command is called {args[0]!r}{did_you_mean(args[0], self.list_commands(ctx))}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        left = self.list_commands(ctx)
        widest = max(map(len, left))
        for title, members in (*GROUPS.items(), ("Further commands", left)):
            shown = [name for name in members if name in left]
            left = [name for name in left if name not in shown]
            rows = [(name.ljust(widest), self._short(name) or self._loaded_short(ctx, name)) for name in shown]
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)

    @staticmethod
    def _short(name: str) -> str | None:
        return next((members[name] for members in GROUPS.values() if name in members), None)

    def _loaded_short(self, ctx: click.Context, name: str) -> str:
        """Of a command that is in no group."""
        command = self.get_command(ctx, name)
        return command.get_short_help_str(limit=100) if command else ""


class CommandWithVariants(click.Command):
    """Lists the variants as they describe themselves; they are loaded for its help only."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        variants = [each for each in args if registry.is_known("variants", re.split("[:,]", each)[0])]
        try:
            return super().parse_args(ctx, args)
        except click.MissingParameter as error:
            if variants:
                given = ",".join(variants)
                raise click.UsageError(f"Missing option '--variants'; give --variants {given}", ctx) from error
            raise

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        from dbcpu.variants._selection import list_variants

        with formatter.section("Variants"):
            formatter.write_dl(list_variants())
        super().format_options(ctx, formatter)
