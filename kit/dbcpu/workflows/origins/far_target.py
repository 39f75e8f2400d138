"""Whether a target is measured from elsewhere, and all that is needed for that. No secret is looked up here."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from dbcpu import registry
from dbcpu.config.origins import HERE, check_origin
from dbcpu.config.targets import safe_url, take_password, targets
from dbcpu.errors import UnknownName, UsageError

if TYPE_CHECKING:
    from dbcpu.hosts.transport import Transport

PROGRAMS = ("dbcpu", "~/.local/bin/dbcpu", "/usr/local/bin/dbcpu", "/opt/dbcpu/bin/dbcpu")
"""Where a dbcpu is looked for: a command over ssh has a short PATH."""
_REFERENCES = ("url", "password_env", "password_file")


class FarTarget(Struct, frozen=True):
    """``url``: as it is seen from there, '' or a bare kind for its defaults. ``table``: of a configured target.

    ``way``: to a shell there. ``route``: the same as the user writes it.
    """

    name: str
    kind: str
    url: str
    origin: str
    route: str
    way: "Transport"
    table: Mapping[str, str]
    programs: tuple[str, ...] = PROGRAMS

    @property
    def argument(self) -> str:
        """TARGET for a dbcpu there."""
        return self.name if self.table else self.url


def far_target(text: str, origin: str | None, route: str | None) -> FarTarget | None:
    """None for a target that is measured from this machine.

    Args:
        text: TARGET of the command line.
        origin, route: --from and --host; None for what the configuration says.

    Raises:
        UsageError: there is no way to a shell there, or the target cannot be measured so.
    """
    named = None if "://" in text else targets().get(text)
    wanted = origin or (named.origin if named else HERE)
    if wanted == HERE:
        return None
    from dbcpu.hosts.shell_routes import is_shell_route, transport_of  # most targets are measured from here

    route = route or (named.host if named else None) or ""
    if not is_shell_route(route):
        raise UsageError(f"--from {wanted} needs a way to a shell there; give --host ssh:NAME, or host in dbcpu.toml")
    url, table = text, dict[str, str]()
    programs: tuple[str, ...] = PROGRAMS
    if named:
        url = named.url
        values = (url, named.password_env, named.password_file)
        table = {key: value for key, value in zip(_REFERENCES, values, strict=True) if value}
        asked = {"password": "prompt"} if named.prompt else {}
        check_origin({**table, **asked, "from": wanted, "host": route}, f"{named.file}, [targets.{text}]")
        programs = (named.program,) if named.program else PROGRAMS
    elif "://" in text:
        url, password = take_password(text)
        if password is not None:
            raise UsageError(f"the password in the URL would be seen on the far host; keep it there, --from {wanted}")
    kind = url.partition(":")[0].partition("+")[0]
    if not registry.is_known("targets", kind):
        raise UnknownName("kind of database", kind, registry.all_names("targets"))
    name = text if named or "://" not in text else safe_url(url)
    return FarTarget(name, kind, url, wanted, route, transport_of(route), table, programs)


def toml_of(target: str, table: Mapping[str, str]) -> str:
    """``[targets.NAME]``. JSON's texts without control characters are TOML's, too. Source: toml.io/en/v1.0.0"""
    lines = (f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in table.items())
    return "\n".join((f"[targets.{json.dumps(target, ensure_ascii=False)}]", *lines, ""))


def kit_files(*names: str) -> dict[str, str]:
    """Files of shell/ and sql/ by their names below the project."""
    from importlib.resources import files

    root = files("dbcpu")
    return {name: root.joinpath(*Path(name).parts).read_text("utf-8") for name in names}
