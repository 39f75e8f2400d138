"""The targets of a fleet with their tags: from a dbcpu.toml, Ansible's inventory, a CSV table, or names of ssh_config.

    [defaults]
    url = "postgresql://bench@{name}.example/postgres"     # {name}, and {host}: its address where Ansible knows one
    password_env = "BENCH_PASSWORD"
    [targets.db-17]
    tags = { region = "eu", instance = "m5.4xlarge", production = "yes-measure" }
    group = "hypervisor-7"                                # targets of a group are never measured at the same time

Passwords are references here, as in dbcpu.toml, and are looked up by the station that measures.
"""

import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from dbcpu.config import inventory_forms
from dbcpu.config.given_file import read_given
from dbcpu.config.origins import HERE, check_origin
from dbcpu.config.targets import MAX_DOTS, TABLES, TARGET_KEYS, Named, checked, safe_url, tables_of
from dbcpu.config.toml_checks import only
from dbcpu.errors import UsageError
from dbcpu.formatting import as_whole_number

MAX_BYTES = 4 << 20
"""A thousand targets of Ansible with all their variables have about a fourth of it."""
MAX_TARGETS = 10_000
MAX_NAME = 128
VCPUS, MAX_VCPUS = "vcpus", 99_999
PRODUCTION, ON_PURPOSE = "production", "yes-measure"
_NOT_PRODUCTION = ("no", "false", "")
_SECRET = re.compile(r"passw|passphrase|pwd|secret|token|credential|apikey|privatekey")
"""In a tag's name, without its dashes: tags are kept in a store, and published by reports."""
_PLACEHOLDER = re.compile(r"\{[^{}]*\}")
KEYS = tuple(key for key in TARGET_KEYS if key != "password")
"""Of a target: a fleet requests no password, for nobody is there."""
_INSTEAD = 'use password_env = "VARIABLE" or password_file = "FILE"'
_REFERENCES = ("url", "host", "password_env", "password_file")


class Listed(Struct, frozen=True):
    """One target of an inventory. It holds no secret.

    ``password_file``: seen from where it is measured from, which is ``origin``; from here an absolute path.
    """

    name: str
    url: str
    host: str | None = None
    password_env: str | None = None
    password_file: str | None = None
    tags: Mapping[str, str] = field(default_factory=dict)
    group: str = ""
    origin: str = HERE
    program: str | None = None
    origin_given: bool = False

    @property
    def vcpus(self) -> int | None:
        """As its tag says, for the preview."""
        return as_whole_number(self.tags.get(VCPUS, ""), 1, MAX_VCPUS)

    @property
    def kind(self) -> str:
        """postgresql, oracle ...: the scheme of its URL without driver, or the bare kind."""
        return self.url.partition(":")[0].partition("+")[0]

    def table(self) -> dict[str, str]:
        """Its ``[targets.NAME]``, as ``dbcpu run`` reads it."""
        origin = None if self.origin == HERE else self.origin
        found = {key: getattr(self, key) for key in (*_REFERENCES, "program")} | {"from": origin}
        return {key: value for key, value in found.items() if value}

    def measured_from(self, origin: str) -> "Listed":
        """The same, measured from elsewhere than the inventory says. Raises UsageError where it cannot be."""
        moved = replace(self, origin=origin)
        check_origin(moved.table(), self.name)
        return moved


def read_inventory(file: Path, url: str | None = None) -> tuple[Listed, ...]:
    """All targets of ``file``, in its order; its form follows from its ending: .toml, .json, .csv, else ssh_config(5).

    Args:
        url: of targets that have none; ``{name}`` and ``{host}`` in it are replaced.

    Raises:
        UsageError: it cannot be read, or a target in it is wrong; the sentence names both.
        UntrustedFile: it is a FIFO of another user.
    """
    try:
        data = read_given(file, MAX_BYTES + 1)
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UsageError(f"{file} is not UTF-8 text; save it as UTF-8") from None
    except (OSError, ValueError) as error:
        raise UsageError(f"{file} could not be read: {getattr(error, 'strerror', None) or error}") from None
    if len(data) > MAX_BYTES:
        raise UsageError(f"{file} is larger than {MAX_BYTES >> 20} MiB; make several inventories of it")
    tables = _tables(file, text)
    if not tables:
        raise UsageError(f"{file} has no target in it; docs/fleet.md shows the forms of an inventory")
    if len(tables) > MAX_TARGETS:
        raise UsageError(f"{file} has {len(tables)} targets, more than {MAX_TARGETS}; make several inventories of it")
    return tuple(_listed(name, table, file, url) for name, table in tables.items())


def selected(targets: Sequence[Listed], select: str | None) -> tuple[Listed, ...]:
    """Those that have all tags of ``select``: ``region=eu kind=oracle``; ``*`` and ``?`` in a value as in a shell.

    ``name``, ``kind`` and ``group`` are selected like tags.

    Raises:
        UsageError: it is not understood, or no target fits.
    """
    wanted = [part.partition("=") for part in (select or "").split()]
    for key, equals, _ in wanted:
        if not equals or not key:
            raise UsageError(f"--select {select!r} is not understood; write TAG=VALUE, several between spaces")
    found = tuple(each for each in targets if all(_fits(each, key, value) for key, _, value in wanted))
    if not found:
        tags = sorted({tag for each in targets for tag in each.tags})
        raise UsageError(f"no target has {select!r}; the inventory's tags are {', '.join(tags) or 'none'}")
    return found


def refuse_production(targets: Sequence[Listed]) -> None:
    """Raises UsageError for a target with a tag ``production`` that is not on purpose."""
    found = [each.name for each in targets if _is_production(each)]
    if found:
        named = ", ".join(found[:5]) + (f" and {len(found) - 5} more" if len(found) > 5 else "")
        raise UsageError(
            f"{named}: tagged production, and a measurement saturates it for minutes; leave it out by --select, "
            f'or tag it on purpose: {PRODUCTION} = "{ON_PURPOSE}"'
        )


def _is_production(target: Listed) -> bool:
    marks = {value.casefold() for key, value in target.tags.items() if key.casefold() == PRODUCTION}
    return bool(marks - {*_NOT_PRODUCTION, ON_PURPOSE})


def _fits(target: Listed, key: str, value: str) -> bool:
    own = {"name": target.name, "kind": target.kind, "group": target.group} | dict(target.tags)
    return key in own and fnmatchcase(own[key], value)


def _tables(file: Path, text: str) -> dict[str, object]:
    match file.suffix.lower():
        case ".toml":
            content = _toml(file, text)
            _refuse_password(content.get("defaults"), f"{file}, [defaults]")
            return tables_of(file, content, KEYS)
        case ".json":
            return inventory_forms.ansible(text, str(file))
        case ".csv":
            return inventory_forms.csv_table(text, str(file))
    return inventory_forms.ssh_names(text, str(file))


def _toml(file: Path, text: str) -> dict[str, Any]:
    if any(line.count(".") > MAX_DOTS for line in text.splitlines()):
        raise UsageError(f"{file} has more than {MAX_DOTS} dots in a line; write the tables under headings")
    try:
        content = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{file} is not valid TOML: {str(error)[:200]}") from None
    only(content, TABLES, str(file))
    return content


def _listed(name: str, table: object, file: Path, url: str | None) -> Listed:
    where = f"{file}, [targets.{name[:MAX_NAME]}]"
    if not isinstance(table, dict):
        raise UsageError(f"{where} is not a table; write [targets.{name}] and below it url = ...")
    given = _with_url(dict(table), url, name, file)
    address = given.pop(inventory_forms.ADDRESS, name)
    for key, value in given.items():
        if isinstance(value, str) and not value.isprintable():
            raise UsageError(f"{where}: {key} has a character in it that cannot be printed; write it without")
    if not 0 < len(name) <= MAX_NAME or not name.isprintable():
        raise UsageError(f"{where}: a name has 1 to {MAX_NAME} characters that can be printed")
    for key in ("url", "host"):
        if isinstance(given.get(key), str):
            if unknown := set(_PLACEHOLDER.findall(given[key])) - {"{name}", "{host}"}:
                raise UsageError(f"{where}: {key} has {min(unknown)} in it; only {{name}} and {{host}} are replaced")
            given[key] = given[key].replace("{name}", name).replace("{host}", str(address))
    given["tags"] = _tags(given.get("tags", {}), where)
    if "group" in given:
        given["group"] = _text(given["group"], "group", where)
    _refuse_password(given, where)
    only(given, KEYS, where)
    named = checked(name, given, file, _INSTEAD)
    if "://" in named.url and "***" in safe_url(named.url):
        raise UsageError(f"{where}: the url has a parameter that may hold a secret, and a campaign is kept in a store")
    return Listed(
        name, named.url, named.host, named.password_env, _secret_file(named), named.tags, named.group,
        named.origin, named.program, "from" in given,
    )  # fmt: skip


def _refuse_password(table: object, where: str) -> None:
    """Neither one nor the word that asks for it."""
    if isinstance(table, dict) and "password" in table:
        what = "a fleet cannot ask for a password, and an inventory is no place for one"
        raise UsageError(f"{where}: {what}; {_INSTEAD}")


def _with_url(table: dict[str, Any], url: str | None, name: str, file: Path) -> dict[str, Any]:
    """Names of ssh_config have no URL, nor has every host of a CSV table or of Ansible's."""
    if "url" in table:
        return table
    if url:
        return {**table, "url": url}
    if file.suffix.lower() != ".toml":
        way = "add --url 'postgresql://USER@{host}/DATABASE', for those without"
        raise UsageError(f"{file}: {name[:MAX_NAME]} has no url; {way}")
    return table


def _secret_file(named: Named) -> str | None:
    """As it is seen from where the target is measured from."""
    if named.password_file is None or named.origin != HERE:
        return named.password_file
    return str(named.file.absolute().parent / Path(named.password_file).expanduser())


def as_toml(targets: Sequence[Listed]) -> str:
    """An inventory of these, which says of each where it is measured from."""
    return "\n".join("\n".join(_toml_lines(each)) for each in targets)


def _toml_lines(target: Listed) -> Iterator[str]:
    def text(value: str) -> str:
        return json.dumps(value, ensure_ascii=False)  # of printable characters it is TOML, too

    yield f"[targets.{text(target.name)}]"
    for key, value in (target.table() | {"from": target.origin, "group": target.group}).items():
        if value:
            yield f"{key} = {text(value)}"
    if target.tags:
        yield f"tags = {{ {', '.join(f'{text(key)} = {text(value)}' for key, value in target.tags.items())} }}"
    yield ""


def _tags(found: object, where: str) -> dict[str, str]:
    if not isinstance(found, dict):
        raise UsageError(f'{where}: tags is not a table; write tags = {{ region = "eu" }}')
    made = {_text(key, "a tag's name", where): _text(value, f"the tag {key}", where) for key, value in found.items()}
    for key, value in made.items():
        # A group of Ansible is a tag whose value is yes: no secret, whatever its name.
        if _SECRET.search(re.sub(r"[-_ .]", "", key.casefold())) and value.casefold() not in ("yes", *_NOT_PRODUCTION):
            raise UsageError(
                f"{where}: {key} may hold a secret, and tags are kept in the store and shown in reports; remove it, "
                "and use password_env or password_file"
            )
    if VCPUS in made and as_whole_number(made[VCPUS], 1, MAX_VCPUS) is None:
        raise UsageError(
            f"{where}: the tag {VCPUS} is {made[VCPUS]!r}, and no whole number from 1 to {MAX_VCPUS}; correct it, or "
            "leave it out"
        )
    return made


def _text(value: object, what: str, where: str) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return str(value)
    if not isinstance(value, str) or len(value) > MAX_NAME or not value.isprintable():
        raise UsageError(f"{where}: {what} is not a text of at most {MAX_NAME} characters; write it shorter")
    return value
