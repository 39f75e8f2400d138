"""The table of variants in ``dbcpu vary --help``."""

import click


class CommandWithVariants(click.Command):
    """Lists the variants as they describe themselves; they are loaded for its help only."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        from dbcpu.variants._selection import list_variants

        with formatter.section("Variants"):
            formatter.write_dl(list_variants())
        super().format_options(ctx, formatter)
