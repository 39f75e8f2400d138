"""Options that the commands of ``dbcpu fleet`` share."""

from pathlib import Path
from typing import Any

import click

from dbcpu.cli._options import fail_on_option, store_option, together, yes_option

_TALK = click.option("--quiet", "-q", is_flag=True, help="Print only the result.")


class Share(click.ParamType[float]):
    """``10%`` or ``0.1``: 0 to 1."""

    name = "share"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        text = str(value).strip()
        try:
            found = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
        except ValueError:
            found = -1.0
        if not 0 <= found <= 1:
            self.fail(f"{value!r} is not a share; give `0%` to `100%`", param, ctx)
        return found


inventory_argument = click.argument(
    "inventory", type=click.Path(exists=True, dir_okay=False, path_type=Path), metavar="INVENTORY"
)
campaign_argument = click.argument("campaign", metavar="NAME")

listing_options = together(
    inventory_argument,
    click.option("--select", metavar="TAGS", help="Only targets with these tags: 'region=eu kind=oracle'."),
    click.option("--url", metavar="URL", help="URL of targets that have none; {name} and {host} are replaced."),
)

limit_options = together(
    click.option("--at-once", type=click.IntRange(1, 1000), metavar="N",
                 help="Targets measured at the same time.  [default: from CPUs and memory here, at most 20]"),
    click.option("--failures", type=Share(), metavar="SHARE", default="10%", show_default=True,
                 help="Start no more targets when more than this share has failed. One failure is accepted, except "
                      "with 0 %."),
    click.option("--window", metavar="HH:MM-HH:MM",
                 help="Start a measurement only if it can start and end within this window."),
)  # fmt: skip

place_options = together(
    fail_on_option,
    click.option("--scheduler", metavar="URL", help="Measure by the workers of a Dask cluster, tls://HOST:PORT."),
    store_option,
    yes_option,
    _TALK,
)
