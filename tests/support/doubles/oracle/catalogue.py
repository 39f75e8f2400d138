"""Which statements the double knows: those of the kit's own files, and a few that the driver and the tests send.

A statement is recognised by its text, white space and case aside; ``:n`` in a workload and the marks of a template
stand for any number. Everything else is rejected: ORA-00942 for a query, ORA-00900 for the rest.
"""

import enum
import functools
import re
from collections.abc import Iterable
from importlib.resources import files
from importlib.resources.abc import Traversable

from msgspec import Struct, field

from dbcpu.measure import workloads as workload_files
from support import calm_work
from support.doubles.oracle.errors import OracleError

_HEADER = re.compile(r"^--\s*([a-z]+):\s*(.*)$")
_MARK = re.compile(r"(?<![:\w]):(\w+)\b")
_ESCAPED_MARK = re.compile(r"(?<![:\w]):([a-z]\w*)\b")
_ONE_INSTANCE = re.compile(r"\bsid='[\w$#]+'$")
"""The catalogue has the word INSTANCE there; a star, which stands for all of a cluster, is sent by nobody."""
_AROUND = re.compile(r"\s*([(),;=<>|])\s*")
# Quoted text and comments hold no binds; hints are comments too.
_NO_BINDS = re.compile(r"'[^']*'|--[^\n]*|/\*.*?\*/", re.DOTALL)

# What python-oracledb, SQLAlchemy and the double's own tests send.
_EXTRA = (
    "select 1 from dual",
    "select 1.1 from dual",
    "select sys_context('userenv','current_schema') from dual",
    "select user from dual",
    "select systimestamp from dual",
    "select sid, serial# as serial_num, username, program, module, logon_time from v$session where type = 'USER'",
    "select stat_name, value from v$sess_time_model where sid = :sid",
    "select :number_bind as number_value, :text_bind as text_value from dual",
    "select level as line from dual connect by level <= :lines",
    "begin :doubled := 2 * :given; end;",
    "begin :text := :text || :text; end;",
)


class Kind(enum.Enum):
    QUERY = enum.auto()
    WORK = enum.auto()
    BLOCK = enum.auto()
    COMMAND = enum.auto()


class Statement(Struct, frozen=True):
    """A recognised statement. ``name``: its file, or its text; ``numbers``: what stood for its marks."""

    name: str
    kind: Kind
    sql: str
    numbers: dict[str, int] = field(default_factory=dict)

    @property
    def is_query(self) -> bool:
        """Whether it returns rows. A workload may be a block instead."""
        return self.kind is Kind.QUERY or (self.kind is Kind.WORK and not _is_block(self.sql))

    @property
    def is_block(self) -> bool:
        return _is_block(self.sql)

    @property
    def binds(self) -> tuple[str, ...]:
        """Names in the order the client sends values: a block has one bind per name, SQL one per occurrence."""
        found = [name.lower() for name in _MARK.findall(_NO_BINDS.sub(" ", self.sql))]
        return tuple(dict.fromkeys(found) if self.is_block else found)


class Catalogue:
    """All known statements. ``extra``: further texts that a test sends."""

    def __init__(self, extra: Iterable[str] = ()) -> None:
        self._exact: dict[str, tuple[str, Kind]] = {}
        self._patterns: list[tuple[re.Pattern[str], str, Kind]] = []
        for sql in (*_EXTRA, *extra):
            self._add(sql, sql, _kind(sql))
        for name, sql, kind, marks in files_of_the_kit():
            self._add(name, sql, kind, marks)

    def recognise(self, sql: str) -> Statement:
        """The statement that ``sql`` is.

        Raises:
            OracleError: ORA-00942 for an unknown query, ORA-00900 for anything else.
        """
        text = _ONE_INSTANCE.sub("sid='instance'", normal(sql))
        if text in self._exact:
            name, kind = self._exact[text]
            return Statement(name, kind, sql)
        for pattern, name, kind in self._patterns:
            if found := pattern.fullmatch(text):
                return Statement(name, kind, sql, {key: int(value) for key, value in found.groupdict().items()})
        raise OracleError(942 if _is_query(text) else 900)

    def _add(self, name: str, sql: str, kind: Kind, marks: Iterable[str] = ()) -> None:
        text, wanted = normal(sql), set(marks)
        if not wanted & set(_MARK.findall(text)):
            self._exact[text] = (name, kind)
            return
        seen: set[str] = set()
        parts = []
        for at, part in enumerate(_ESCAPED_MARK.split(text)):
            if at % 2 == 0:
                parts.append(re.escape(part))
            elif part not in wanted:
                parts.append(f":{part}")
            else:
                parts.append(f"(?P={part})" if part in seen else rf"(?P<{part}>\d+)")
                seen.add(part)
        self._patterns.append((re.compile("".join(parts)), name, kind))


@functools.cache
def files_of_the_kit() -> tuple[tuple[str, str, Kind, tuple[str, ...]], ...]:
    """Name, text, kind and marks of each statement in ``sql/oracle``, and of ``calm``; read once in a process."""
    found: list[tuple[str, str, Kind, tuple[str, ...]]] = []
    calm = workload_files.parse("oracle", calm_work.NAME, calm_work.TEXTS["oracle"])
    for workload in (*(workload_files.load("oracle", name) for name in workload_files.names("oracle")), calm):
        name, (*setup, measured) = workload.name, workload.statements
        found += [(f"{name}.{at}", sql, _kind(sql), ()) for at, sql in enumerate(setup)]
        found.append((name, measured, Kind.WORK, ("n",)))
    for name, header, sql in _catalogue_files():
        found.append((name, sql, _kind(sql), tuple(_MARK.findall(header.get("template", "")))))
    return tuple(found)


def _catalogue_files() -> Iterable[tuple[str, dict[str, str], str]]:
    """Name, header and statement of each file of ``sql/oracle/catalogue``."""
    folder: Traversable = files("dbcpu") / "sql" / "oracle" / "catalogue"
    if not folder.is_dir():
        return
    for file in folder.iterdir():
        if not file.name.endswith(".sql"):
            continue
        lines = file.read_text("utf-8").splitlines()
        header = {found[1]: found[2] for line in lines if (found := _HEADER.match(line))}
        body = "\n".join(line for line in lines if not line.startswith("--"))
        yield file.name.removesuffix(".sql"), header, body


@functools.lru_cache(maxsize=1024)
def normal(sql: str) -> str:
    """A text by which a statement is recognised: white space, case and the closing mark aside."""
    text = _AROUND.sub(r"\1", " ".join(sql.split()).casefold()).removesuffix("/").rstrip()
    return text if _is_block(text) else text.removesuffix(";").rstrip()


def _is_query(text: str) -> bool:
    return text.split(None, 1)[:1] in (["select"], ["with"])


def _is_block(text: str) -> bool:
    return text.lstrip().lower().startswith(("begin", "declare"))


def _kind(sql: str) -> Kind:
    text = normal(sql)
    if _is_query(text):
        return Kind.QUERY
    return Kind.BLOCK if _is_block(text) else Kind.COMMAND
