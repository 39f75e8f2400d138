"""Inventories that other programs have, as tables of targets: Ansible's JSON, CSV, and the names of ssh_config."""

import csv
import io
import json
import re
from collections.abc import Mapping
from typing import Any

from dbcpu.errors import UsageError

ADDRESS = "{host}"
"""The key of a table with the address that stands for it in a URL; no user can write it."""
OWN = ("url", "host", "password_env", "password_file", "group", "from", "program")
_MARK = "dbcpu_"
_HOST = re.compile(r"\s*host(?:\s*=|\s)", re.IGNORECASE)
_SSH_PIECE = re.compile(r"""\\[\\"' ]|.""")
_NO_TAG = ("all", "ungrouped", "_meta")


def ansible(text: str, where: str) -> dict[str, object]:
    """What ``ansible-inventory --list`` prints. Each group of a host is a tag with the value yes.

    The host variables ``dbcpu_url``, ``dbcpu_host``, ``dbcpu_password_env``, ``dbcpu_password_file``, ``dbcpu_group``,
    ``dbcpu_from``, ``dbcpu_program`` and ``dbcpu_tags`` are read, and ``ansible_host``; no others.

    Raises:
        UsageError: it is not JSON of that form.
    """
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(
            f"{where} is not valid JSON: {str(error)[:200]}; write it by ansible-inventory --list"
        ) from None
    meta = content.get("_meta") if isinstance(content, dict) else None
    hosts = meta.get("hostvars") if isinstance(meta, dict) else None
    if not isinstance(hosts, dict):
        raise UsageError(f"{where} has no _meta with hostvars; write it by ansible-inventory --list")
    members = _members(content)
    names = list(dict.fromkeys([*hosts, *(host for found in members.values() for host in found)]))
    return {name: _of_ansible(name, hosts.get(name), members, where) for name in names}


def _members(content: Mapping[str, Any]) -> dict[str, set[str]]:
    """Group -> its hosts, those of groups inside it too; a group inside itself ends the way down."""

    def hosts(name: str, above: frozenset[str]) -> set[str]:
        group = content.get(name)
        if not isinstance(group, dict) or name in above:
            return set()
        inner = [child for child in _names(group.get("children")) if len(above) < 50]
        return set(_names(group.get("hosts"))).union(*(hosts(child, above | {name}) for child in inner))

    return {name: hosts(name, frozenset()) for name in content if name != "_meta"}


def _names(found: object) -> list[str]:
    return [each for each in found if isinstance(each, str)] if isinstance(found, list) else []


def _of_ansible(name: str, found: object, members: Mapping[str, set[str]], where: str) -> dict[str, object]:
    variables = found if isinstance(found, dict) else {}
    tags: object = variables.get(f"{_MARK}tags", {})
    if not isinstance(tags, dict):
        raise UsageError(f"{where}: dbcpu_tags of {name} is not a table of texts")
    groups = {group: "yes" for group, hosts in members.items() if name in hosts and group not in _NO_TAG}
    table = {key: variables[f"{_MARK}{key}"] for key in OWN if f"{_MARK}{key}" in variables}
    return {**table, "tags": groups | tags, ADDRESS: variables.get("ansible_host", name)}


def csv_table(text: str, where: str) -> dict[str, object]:
    """A table with a column ``name``; other columns than the keys of a target are tags, and empty fields are none.

    Raises:
        UsageError: no such column, a line of another length, or a name that comes twice.
    """
    made: dict[str, object] = {}
    try:
        lines = csv.DictReader(io.StringIO(text, newline=""), strict=True)
        if "name" not in (lines.fieldnames or ()):
            first = text.partition("\n")[0]
            if ";" in first or "\t" in first:
                raise UsageError(
                    f"{where} has {';' if ';' in first else 'tabs'} between its columns; save it with commas"
                )
            raise UsageError(f"{where} has no column called name in its first line; add it")
        for line in lines:
            if None in line or None in line.values():
                raise UsageError(f"{where}, line {lines.line_num}: it has not as many fields as the first line")
            name = line.pop("name").strip()
            if name in made:
                raise UsageError(f"{where}, line {lines.line_num}: {name!r} is there already; give it once")
            filled = {key: value.strip() for key, value in line.items() if value.strip()}
            own = {key: value for key, value in filled.items() if key in OWN}
            made[name] = {**own, "tags": {key: value for key, value in filled.items() if key not in OWN}}
    except csv.Error as error:
        raise UsageError(f"{where} is not valid CSV: {error}") from None
    return made


def ssh_names(text: str, where: str) -> dict[str, object]:
    """The names after ``Host`` without a pattern, to be reached by ssh; ``HostName`` is read by ssh alone.

    A name with a blank or a quote in it is none: ssh takes no such host.

    Raises:
        UsageError: quotes are not closed, for which ssh refuses the whole file.
    """
    names: list[str] = []
    for number, line in enumerate(text.splitlines(), 1):
        if host := _HOST.match(line):
            names += _ssh_words(line[host.end() :], f"{where}, line {number}")
    plain = (name for name in names if name and not set(name) & set("*?!# \t\"'"))
    return {name: {"host": f"ssh:{name}"} for name in plain}


def _ssh_words(text: str, where: str) -> list[str]:
    """As OpenSSH takes a line apart: # begins a comment where a word would begin, but not in quotes or within a word.

    Source: ssh_config(5), argv_split() of OpenSSH's misc.c. Raises UsageError.
    """
    words: list[str] = []
    word: str | None = None
    quote = ""
    for piece in _SSH_PIECE.findall(text):
        if quote and piece == quote:
            quote = ""
        elif not quote and piece in ("'", '"'):
            quote, word = piece, word or ""
        elif not quote and piece.isspace():
            words += [] if word is None else [word]
            word = None
        elif word is None and piece == "#":
            break
        else:
            word = (word or "") + piece[-1]
    if quote:
        raise UsageError(f"{where}: a quote is not closed, and ssh refuses a file with such a line; close it")
    return words if word is None else [*words, word]
