"""The targets of a fleet: read from dbcpu.toml, from what ``ansible-inventory --list`` prints, or from CSV.

All three name targets with tags, and hold no secret: only where to find one (see ``targets``). In Ansible's JSON a host
is a target if it has the variable ``dbcpu_url``; ``dbcpu_host``, ``dbcpu_password_env``, ``dbcpu_password_file``,
``dbcpu_group`` and ``dbcpu_tags`` are its other keys, and each of its groups is a tag. In CSV the first line names the
columns: ``name``, ``url`` and any of ``host``, ``password_env``, ``password_file``, ``group``; every other is a tag.
Source: Ansible documentation, "Developing dynamic inventory"
"""

import csv
import io
import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from dbcpu.config.given_file import read_given
from dbcpu.config.targets import TARGET_KEYS, Named, checked, targets, targets_in
from dbcpu.config.trusted_file import UntrustedFile
from dbcpu.errors import UsageError

MAX_BYTES = 16 << 20
MAX_TARGETS = 100_000
LONGEST_NAME = 128
"""It is part of a label, and of a key in the store."""
PREFIX = "dbcpu_"
ENVIRONMENT, PRODUCTION, ALLOWED = "env", "production", "dbcpu"
"""A target with the tag ``env = "production"`` is measured only if it has the tag ``dbcpu = "allowed"`` as well."""


def read_inventory(file: Path | None) -> tuple[Named, ...]:
    """The targets of ``file`` in its order; of the usual configuration files where none is named.

    Raises:
        UsageError: it cannot be read, names no target, or what is wrong with which target.
    """
    found = tuple(targets().values()) if file is None else _from_file(file)
    if not found:
        where = str(file) if file else "dbcpu.toml"
        raise UsageError(f"{where} names no target; docs/fleet.md shows what an inventory looks like")
    for each in found:
        if each.prompt:
            raise UsageError(
                f'{each.file}, [targets.{each.name}]: password = "prompt" is not possible in a fleet; '
                "use password_env or password_file"
            )
        if len(each.name) > LONGEST_NAME:
            raise UsageError(f"{each.file}: the name {each.name[:20]!r}... has more than {LONGEST_NAME} letters")
    return tuple(_with_whole_path(each) for each in found)


def selected(given: tuple[Named, ...], conditions: str) -> tuple[Named, ...]:
    """Those with all tags of ``conditions``, such as ``region=eu kind=oracle``; ``name=`` is the target's own.

    Raises UsageError: not KEY=VALUE, or no target fits.
    """
    wanted = dict(_condition(part) for part in conditions.split())
    found = tuple(each for each in given if all(_tag(each, key) == value for key, value in wanted.items()))
    if not found:
        raise UsageError(f"no target of the inventory has {conditions!r}; its tags are {_known_tags(given)}")
    return found


def is_held_back(target: Named) -> bool:
    """Whether it is a production target that nobody allowed to be measured."""
    return target.tags.get(ENVIRONMENT) == PRODUCTION and target.tags.get(ALLOWED) != "allowed"


def _from_file(file: Path) -> tuple[Named, ...]:
    if file.suffix not in (".json", ".csv"):
        if not file.is_file():
            raise UsageError(f"there is no inventory {file}; give a file ending in .toml, .json (Ansible) or .csv")
        return targets_in(file)
    try:
        text = read_given(file, MAX_BYTES + 1).decode("utf-8-sig")
    except UntrustedFile as error:
        raise UsageError(str(error)) from None
    except UnicodeDecodeError:
        raise UsageError(f"{file} is not UTF-8 text; save it as UTF-8") from None
    except (OSError, ValueError) as error:
        raise UsageError(
            f"the inventory {file} could not be read: {getattr(error, 'strerror', None) or error}"
        ) from None
    if len(text) > MAX_BYTES:
        raise UsageError(f"the inventory {file} is larger than {MAX_BYTES >> 20} MiB")
    found = tuple(_ansible(file, text) if file.suffix == ".json" else _rows(file, text))
    if len(found) > MAX_TARGETS:
        raise UsageError(f"the inventory {file} has more than {MAX_TARGETS} targets")
    twice = [name for name, times in Counter(each.name for each in found).items() if times > 1]
    if twice:
        raise UsageError(f"the inventory {file} has {twice[0]!r} twice; a target is measured once")
    return found


def _ansible(file: Path, text: str) -> list[Named]:
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{file} is not valid JSON: {str(error)[:200]}") from None
    meta = content.get("_meta") if isinstance(content, dict) else None
    variables = meta.get("hostvars") if isinstance(meta, dict) else None
    if not isinstance(variables, dict):
        raise UsageError(f"{file} has no _meta.hostvars; write it by: ansible-inventory --list")
    groups = _groups(content)
    return [
        checked(name, _ansible_table(own, groups.get(name, {})), file)
        for name, own in variables.items()
        if isinstance(own, dict) and f"{PREFIX}url" in own
    ]


def _ansible_table(own: Mapping[str, Any], groups: Mapping[str, str]) -> dict[str, Any]:
    table = {key.removeprefix(PREFIX): value for key, value in own.items() if key.startswith(PREFIX)}
    tags = table.get("tags", {})
    return {**table, "tags": {**groups, **tags} if isinstance(tags, dict) else tags}


def _groups(content: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    """Host -> its groups as tags, those that a group is a child of as well."""
    parents: dict[str, set[str]] = {}
    members: dict[str, set[str]] = {}
    for name, group in content.items():
        if name in ("_meta", "all", "ungrouped") or not isinstance(group, dict):
            continue
        for child in _texts(group.get("children")):
            parents.setdefault(child, set()).add(name)
        for host in _texts(group.get("hosts")):
            members.setdefault(host, set()).add(name)
    found = {}
    for host, own in members.items():
        reached, new = set(own), set(own)
        while new := {parent for name in new for parent in parents.get(name, ())} - reached:
            reached |= new
        found[host] = dict.fromkeys(sorted(reached), "yes")
    return found


def _texts(value: object) -> list[str]:
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []


def _rows(file: Path, text: str) -> list[Named]:
    try:
        rows = csv.DictReader(io.StringIO(text), restkey="", strict=True)
        names = [name.strip() for name in rows.fieldnames or ()]
        if missing := {"name", "url"} - set(names):
            raise UsageError(f"{file}: the first line has no column {' and '.join(sorted(missing))}; {_FORM}")
        return [_from_row(file, rows.line_num, dict(zip(names, row.values(), strict=False)), row) for row in rows]
    except csv.Error as error:
        raise UsageError(f"{file} is not valid CSV: {error}; {_FORM}") from None


_FORM = "the first line is: name,url,host,password_env,group and any tags"


def _from_row(file: Path, line: int, cells: Mapping[str, str | None], row: Mapping[str, Any]) -> Named:
    if "" in row:
        raise UsageError(f"{file}, line {line}, has more cells than the first line has names")
    full = {key: text.strip() for key, text in cells.items() if text and text.strip()}
    name = full.pop("name", "")
    if not name:
        raise UsageError(f"{file}, line {line}, has no name")
    tags = {key: text for key, text in full.items() if key not in TARGET_KEYS}
    return checked(name, {**{key: text for key, text in full.items() if key in TARGET_KEYS}, "tags": tags}, file)


def _with_whole_path(target: Named) -> Named:
    """A password file is named as seen from the inventory, and read elsewhere."""
    if target.password_file is None:
        return target
    try:
        whole = target.file.absolute().parent / Path(target.password_file).expanduser()
    except RuntimeError as error:
        raise UsageError(f"{target.file}, [targets.{target.name}]: password_file is no path: {error}") from None
    return replace(target, password_file=str(whole))


def _condition(part: str) -> tuple[str, str]:
    key, equals, value = part.partition("=")
    if not (key and equals and value):
        raise UsageError(f"--select {part!r} is not KEY=VALUE; for example: --select 'region=eu kind=oracle'")
    return key, value


def _tag(target: Named, key: str) -> str | None:
    return target.name if key == "name" else target.tags.get(key)


def _known_tags(given: tuple[Named, ...]) -> str:
    known = sorted({f"{key}={value}" for each in given for key, value in each.tags.items()})
    more = f" and {len(known) - 10} more" if len(known) > 10 else ""
    return (", ".join(known[:10]) or "none") + more
