"""The commands of ``dbcpu``, in the groups that its help shows, and what a mistyped one may have meant."""

import click

from dbcpu import registry
from dbcpu.errors import did_you_mean

GROUPS = {
    "Measure": ("run", "vary", "soak", "pool", "more", "simulate"),
    "Many hosts": ("fleet",),
    "Look at results": ("show", "compare", "check", "list", "report"),
    "Keep results": ("import", "export", "delete", "store"),
    "Look at a host": ("doctor", "topology", "restore"),
}


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
        return load_command(cmd_name.replace("-", "_")).command

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
        for title, members in (*GROUPS.items(), ("Further commands", tuple(left))):
            shown = [name for name in members if name in left]
            left = [name for name in left if name not in shown]
            commands = ((name, self.get_command(ctx, name)) for name in shown)
            rows = [(name.ljust(widest), found.get_short_help_str(limit=100)) for name, found in commands if found]
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)
