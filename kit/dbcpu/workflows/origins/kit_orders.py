"""Which script of the shell kit measures a target, and with which arguments. Passwords are looked up there."""

import math
import shlex
from collections.abc import Sequence
from typing import NamedTuple

from msgspec import Struct

from dbcpu.errors import UsageError
from dbcpu.measure.workloads import usual
from dbcpu.workflows.measure_run import DEFAULT_SECONDS, Choices
from dbcpu.workflows.origins.far_target import FarTarget

_TOOLS = ("awk", "sed", "mkfifo", "grep", "ps")
_UNUSED = ("sampler", "hz", "pace", "vcpus", "cores", "threads_per_core", "seed")
"""Choices that say how a run is watched: the scripts go their own way, which a note says."""


class _Kit(NamedTuple):
    """``files``: beside the workload. ``client``: the program it needs there."""

    script: str
    files: tuple[str, ...]
    client: str


_KITS = {
    "postgresql": _Kit("psql-fanout", ("lines.sh", "sample-psr"), "psql"),
    "oracle": _Kit("sqlplus-fanout", ("sample-psr",), "sqlplus"),
    "shell": _Kit("increment", ("lines.sh", "sample-psr", "sessions.sh", "session"), "sh"),
}


class KitOrders(Struct, frozen=True):
    """``files`` of the project that are sent; ``lines`` of sh for shell/serve-run; ``notes`` for the record."""

    script: str
    files: tuple[str, ...]
    lines: tuple[str, ...]
    notes: tuple[str, ...] = ()


def kit_orders(target: FarTarget, choices: Choices, levels: Sequence[int]) -> KitOrders:
    """Raises UsageError where the kit cannot measure such a target, or not with these options."""
    kit = _kit(target)
    _refuse(target, choices)
    workload = choices.workload or usual(target.kind)
    before, logon = _logon(target)
    sessions = ",".join(map(str, levels))
    words = [f"shell/{kit.script}", "-r", str(choices.repeats), "-s", choices.size, "-o", "result"]
    ending = "sh" if target.kind == "shell" else "sql"
    if target.kind == "shell":
        lasts_s = choices.for_s or choices.seconds or DEFAULT_SECONDS
        words += [sessions, str(math.ceil(lasts_s))]
    else:
        words += ["-n", sessions, "-w", workload, "-e", str(choices.executions or 1)]
    return KitOrders(
        kit.script,
        (f"shell/{kit.script}", *(f"shell/{each}" for each in kit.files), f"sql/{target.kind}/{workload}.{ending}"),
        (_needs(kit), *before, "followed=yes", f"start {shlex.join(words)} {logon}"),
        _unused(choices),
    )


def look_orders(target: FarTarget) -> KitOrders:
    """Whether the scripts would find what they need; of PostgreSQL also whether a session can be opened there."""
    kit = _kit(target)
    before, logon = _logon(target)
    start = f"start look_by_psql {logon}" if target.kind == "postgresql" else "start true"
    return KitOrders(kit.script, (), (_needs(kit), *before, start))


def _needs(kit: _Kit) -> str:
    return f"need {shlex.join((*_TOOLS, kit.client))}"


def _kit(target: FarTarget) -> _Kit:
    if target.kind not in _KITS:
        known = ", ".join(sorted(_KITS))
        raise UsageError(f"the shell kit measures {known}, and {target.name} is {target.kind}; use --from there")
    return _KITS[target.kind]


def _refuse(target: FarTarget, choices: Choices) -> None:
    """What changes the work itself is not left out silently."""
    given = {"--aa": choices.aa}
    if target.kind == "shell":
        given |= {"--executions": bool(choices.executions)}
        given |= {f"--workload {choices.workload}": choices.workload not in (None, "increment")}
    else:
        given |= {"--for": bool(choices.for_s), "--seconds": bool(choices.seconds)}
    if found := [option for option, is_given in given.items() if is_given]:
        raise UsageError(
            f"the shell kit has no {' and no '.join(found)} for {target.kind}; leave it out, or use --from there"
        )


def _unused(choices: Choices) -> tuple[str, ...]:
    names = [name for name in _UNUSED if getattr(choices, name) != getattr(Choices(), name)]
    options = ", ".join("--" + name.replace("_", "-") for name in names)
    return (f"shell-kit-options: the scripts do not have {options}",) if names else ()


def _logon(target: FarTarget) -> tuple[list[str], str]:
    """Lines of sh before it, and the last words of the script, as sh reads them. None of it is a secret."""
    variable, file = target.table.get("password_env"), target.table.get("password_file")
    if target.kind == "shell":
        return [], ""
    if target.kind == "oracle":
        if variable:
            raise UsageError(f"{target.name}: sqlplus-fanout has no password_env; use password_file, or a wallet")
        logon = shlex.quote(_sqlplus_logon(target.url))
        return ([f"at_home {shlex.quote(file)}"], f'-p "$path" {logon}') if file else ([], logon)
    uri = shlex.quote("postgresql" + target.url[target.url.index("://") :]) if "://" in target.url else ""
    if variable:
        if not (variable.isidentifier() and variable.isascii()):
            raise UsageError(f"{target.name}: password_env {variable!r} is no name of a variable of sh")
        return [f"password_in {variable}"], uri
    return ([f"password_from {shlex.quote(file)}"], uri) if file else ([], uri)


def _sqlplus_logon(url: str) -> str:
    """USER@//HOST:PORT/SERVICE, or / for the operating system's user. Source: SQL*Plus User's Guide, Easy Connect"""
    from sqlalchemy.engine import make_url

    if "://" not in url:
        return "/"
    parsed = make_url(url)
    service = str(parsed.query.get("service_name", "") or parsed.database or "")
    place = parsed.host or ""
    if place and (service or parsed.port):
        place = f"//{place}:{parsed.port or 1521}" + (f"/{service}" if service else "")
    return (parsed.username or "/") + (f"@{place}" if place else "")
