"""The unit of work of a database, read from ``sql/<database>/<workload>.sql``; this room holds no SQL itself.

A file begins with a header of ``-- key: value`` lines: ``what`` (one sentence), ``answer`` (``n^4``,
or one known value per size as ``size=value, ...``), ``rows`` (``n^4``, ``n``: the work in one execution),
``sizes`` (``tiny=20, short=50, ...``: fixed, so that hosts can be compared), ``memory`` (bytes per
session, by size or one number), ``needs`` (privileges) and ``try`` (how to run it by hand). Then come
statements ended by ``;`` at the end of a line. The last is measured; those before it are its setup.
``:n`` stands for the size wherever it occurs outside dollar quotes, as in psql. A PL/SQL block begins with
``declare`` or ``begin`` at the start of a line and ends with ``/`` on a line of its own, as in sqlplus.

``sql/shell/<workload>.sh`` has the same form with ``#`` for ``--``: its statements are those of a shell.
All files have one hash together, for runs of one campaign do the same work.
"""

import hashlib
import re
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable

from msgspec import Struct

from dbcpu import registry
from dbcpu.errors import UnknownName, UsageError
from dbcpu.targets.base import Work

COMMENTS = {".sql": "--", ".sh": "#"}
"""What a comment begins with, by the suffix of the file."""
USUAL = ("cartesian", "increment")
"""The workload that is meant when none is named: the first that the database has."""
RUNS_THOSE_OF = {"embedded": "postgresql"}
"""Of targets whose workloads are those of another database."""
SIZES = ("tiny", "short", "medium", "long", "seed")
_HEADER = re.compile(r"^(?:--|#)\s*([a-z]+):\s*(.*)$")
_SIZE_MARK = re.compile(r"(?<![:\w]):n\b")
_DOLLAR_QUOTED = re.compile(r"(\$\w*\$.*?\$\w*\$)", re.DOTALL)
_BLOCK = re.compile(r"^((?:declare|begin)\b.*?)^/[ \t]*$", re.DOTALL | re.MULTILINE | re.IGNORECASE)


class Workload(Struct, frozen=True):
    """One file of sql/, parsed. ``sizes`` maps a size's name to its n."""

    database: str
    name: str
    what: str
    sizes: dict[str, int]
    statements: tuple[str, ...]
    header: dict[str, str]

    def work(self, size: str) -> Work:
        """The work for one size.

        Raises:
            UnknownName: the workload has no such size.
        """
        if size not in self.sizes:
            raise UnknownName(f"size of workload {self.name!r}", size, self.sizes)
        n = self.sizes[size]
        *setup, measured = (_substitute(text, n) for text in self.statements)
        smallest = min(self.sizes.values())
        return Work(
            name=self.name,
            size=size,
            n=n,
            rows=int(self._value("rows", size, n)),
            setup=tuple(setup),
            sql=measured,
            answer=self._value("answer", size, n),
            warm_sql=_substitute(self.statements[-1], smallest),
            memory_bytes=int(self._value("memory", size, n)),
        )

    def trial(self, size: str, most_rows: int) -> Work:
        """The work to try out before ``size`` is run: the largest size not above it and below ``most_rows``."""
        works = [self.work(name) for name, n in self.sizes.items() if n <= self.sizes[size]]
        small = [work for work in works if work.rows <= most_rows] or [min(works, key=lambda work: work.rows)]
        return max(small, key=lambda work: work.rows)

    def _value(self, key: str, size: str, n: int) -> str:
        text = self.header[key]
        if text == "n":
            return str(n)
        if text.startswith("n^"):
            return str(n ** int(text[2:]))
        return _pairs(text)[size] if "=" in text else text


def names(database: str) -> tuple[str, ...]:
    """Workloads that exist for ``database``, sorted."""
    folder = _folder(database)
    if not folder.is_dir():
        return ()
    found = (f.name.rpartition(".") for f in folder.iterdir())
    return tuple(sorted(name for name, dot, suffix in found if dot + suffix in COMMENTS))


def usual(database: str) -> str:
    """The workload that is meant when none is named."""
    return next((name for name in USUAL if name in names(database)), USUAL[0])


def file_name(database: str, name: str) -> str:
    """``sql/<database>/<name>.sql``, or ``.sh``: where a person finds it."""
    suffix = next((each for each in COMMENTS if (_folder(database) / f"{name}{each}").is_file()), ".sql")
    return f"sql/{database}/{name}{suffix}"


def load(database: str, name: str) -> Workload:
    """Read one workload.

    Raises:
        UnknownName: there is no such kind of database, or it has no such workload; the message lists what there is.
        UsageError: the file's header lacks a key.
    """
    if not registry.is_known("targets", database):
        raise UnknownName("kind of database", database, registry.all_names("targets"))
    if name not in names(database):
        raise UnknownName(f"workload for {database}", name, names(database))
    file = file_name(database, name).rpartition("/")[2]
    return parse(database, name, (_folder(database) / file).read_text("utf-8"))


def check_size(kind: str, name: str | None, size: str) -> None:
    """See before a target of this kind is opened that it has the workload (None: the usual one) and the size.

    Nothing is said of a target that is known only once it is open, as several together are. Raises as ``load`` and
    ``Workload.work``.
    """
    database = RUNS_THOSE_OF.get(kind, kind)
    if names(database):
        load(database, name or usual(database)).work(size)


def check_common(kinds: Sequence[str], name: str | None, size: str) -> None:
    """See before targets of these kinds are opened that all have the workload (None: the usual one of the first).

    Raises UsageError where one has not; otherwise as ``check_size``.
    """
    databases = tuple(dict.fromkeys(RUNS_THOSE_OF.get(kind, kind) for kind in kinds))
    wanted = name or usual(databases[0])
    without = [each for each in databases if names(each) and wanted not in names(each)]
    if len(databases) > 1 and without:
        common = sorted(set.intersection(*(set(names(each)) for each in databases if names(each))))
        instead = f"give --workload {' or '.join(common)}" if common else "none is common to all: measure them apart"
        raise UsageError(
            f"workload {wanted!r} is none of {' or '.join(without)}, and targets together run the same work; {instead}"
        )
    for each in databases:
        check_size(each, wanted, size)


def parse(database: str, name: str, text: str) -> Workload:
    """Take a workload file apart. Raises UsageError when its header lacks a key."""
    header: dict[str, str] = {}
    file = file_name(database, name)
    comment = COMMENTS[f".{file.rpartition('.')[2]}"]
    lines = text.splitlines()
    for line in lines:
        if found := _HEADER.match(line):
            header[found[1]] = found[2].strip()
    missing = [key for key in ("what", "answer", "rows", "sizes", "memory") if key not in header]
    if missing:
        raise UsageError(f"{file} has no {', '.join(missing)} in its header; add '{comment} {missing[0]}: ...'")
    body = "\n".join(line for line in lines if not line.lstrip().startswith(comment))
    statements = tuple(part.strip() for part in re.split(r";[ \t]*(?:\n|$)", _hide(body)) if part.strip())
    return Workload(
        database=database,
        name=name,
        what=header["what"],
        sizes={size: int(n) for size, n in _pairs(header["sizes"]).items()},
        statements=tuple(_show(part) for part in statements),
        header=header,
    )


def _folder(database: str) -> Traversable:
    return registry.beside("targets", database, "sql") or files("dbcpu") / "sql" / database


def _pairs(text: str) -> dict[str, str]:
    return {key.strip(): value.strip() for key, value in (pair.split("=", 1) for pair in text.split(","))}


def _substitute(statement: str, n: int) -> str:
    parts = _DOLLAR_QUOTED.split(statement)
    return "".join(part if _DOLLAR_QUOTED.fullmatch(part) else _SIZE_MARK.sub(str(n), part) for part in parts)


def _hide(body: str) -> str:
    """Make the semicolons inside dollar quotes and PL/SQL blocks invisible to the split."""
    body = _BLOCK.sub(lambda block: block[1].replace(";", "\x00").rstrip() + "\n;", body)
    return _DOLLAR_QUOTED.sub(lambda quoted: quoted[0].replace(";", "\x00"), body)


def _show(statement: str) -> str:
    return statement.replace("\x00", ";")


@cache
def sql_hash() -> str:
    """SHA-256 over names and contents, in hexadecimal digits."""
    made = hashlib.sha256()
    _add(files("dbcpu") / "sql", "", made)
    return made.hexdigest()


def _add(folder: Traversable, above: str, made: "hashlib._Hash") -> None:
    for each in sorted(folder.iterdir(), key=lambda found: found.name):
        name = f"{above}/{each.name}"
        if each.is_dir():
            _add(each, name, made)
        elif each.name.endswith(".sql"):
            content = each.read_bytes()
            made.update(f"{name}\0{len(content)}\0".encode())
            made.update(content)
