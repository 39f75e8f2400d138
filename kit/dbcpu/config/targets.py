"""What a TARGET on the command line means: a name from dbcpu.toml, a SQLAlchemy URL, or a kind of database.

    [targets.old-box]
    url = "postgresql://bench@db1.example/postgres"
    host = "ssh:db1.example"               # how its server processes are watched, see docs/remote.md
    password_env = "BENCH_PASSWORD"        # or password_file = "~/.bench", or password = "prompt"

Read from $XDG_CONFIG_HOME/dbcpu/dbcpu.toml and ./dbcpu.toml, merged by target; the working folder wins, and says so.
A file that another user can have written is left out, since a target is obeyed: it can start a program and send a
password. DBCPU_CONFIG names one file to read instead. A secret never stands in the file, only where to find it.
"""

import getpass
import os
import re
import sys
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from msgspec import Struct
from msgspec.structs import replace

from dbcpu import registry
from dbcpu.config.folders import config_folder
from dbcpu.config.given_file import is_entry, is_hidden
from dbcpu.config.origins import HERE, check_origin
from dbcpu.config.ports import PORT_WORDS, is_port
from dbcpu.config.request import Request
from dbcpu.config.toml_checks import only
from dbcpu.config.trusted_file import UntrustedFile, open_trusted
from dbcpu.errors import UnknownName, UsageError
from dbcpu.formatting import plain

if TYPE_CHECKING:
    from sqlalchemy import URL

FILE_NAME = "dbcpu.toml"
MAX_BYTES = 64 * 1024
"""A file of a hundred targets has a third of it."""
MAX_DOTS = 200
"""In a line: time and memory of the parser grow with the square of the parts of a dotted key."""
TABLES = ("targets", "defaults", "licences", "prices", "check")
"""The last three are read by ``settings``."""
TARGET_KEYS = ("url", "host", "password", "password_env", "password_file", "tags", "group", "from", "program")
PROMPT = "prompt"
_NO_STORE = frozenset({"oracle"})
"""Kinds whose driver looks nowhere for a password, as libpq does in ~/.pgpass."""
_LOGON = re.compile(r"[^\s/@]+/[^\s@]+@")
"""sqlplus's USER/PASSWORD@, where no URL is."""
_HIDDEN = re.compile(r"(?:password|passwd)=", re.IGNORECASE)
_MAY_HOLD_ONE = "options"
"""libpq's: any setting of the server or of an extension. It is passed on, and shown nowhere."""
_NO_FILE = frozenset({"oracle", "postgresql"})
"""Kinds whose URLs have no path, in which there may be an @."""
_OTHER_SECRETS = frozenset({"passwd", "sslpassword", "oauth_client_secret", "wallet_password", "access_token"})
_WAYS = 'use password_env = "VARIABLE", password_file = "FILE" or password = "prompt"'


class Named(Struct, frozen=True):
    """One ``[targets.NAME]`` table, checked. ``file`` is where it stands; relative password files start there.

    ``replaces``: the file with another target of that name, which is not used. ``tags`` and ``group`` (of targets that
    are never measured at the same time) are for fleets.
    """

    name: str
    url: str
    file: Path
    password_env: str | None = None
    password_file: str | None = None
    prompt: bool = False
    host: str | None = None
    replaces: Path | None = None
    tags: Mapping[str, str] = {}
    group: str = ""
    origin: str = HERE
    program: str | None = None


def _to_stderr(sentence: str) -> None:
    sys.stderr.write(f"dbcpu: {plain(sentence)}\n")  # it may quote a name in a stranger's folder


@cache
def _once_to_stderr(sentence: str) -> None:  # a command reads the files several times
    _to_stderr(sentence)


def resolve(text: str, warn: Callable[[str], None] = _to_stderr, *, here: bool = False) -> Request:
    """What to measure from this machine, with its secret taken from where the configuration says.

    A kind named bare (``embedded``, ``sqlite``, ``postgresql``) gets the URL '': it then uses its own
    defaults, ``postgresql`` those of psql (environment, service file, .pgpass). ``warn`` gets a sentence
    when a password stood on the command line, or two files have a target of that name. ``here``: also what the
    configuration has measured from elsewhere.

    Raises:
        UnknownName: neither a configured target, nor a URL, nor a kind; the message lists what there is.
        UsageError: a URL or a configuration file is wrong, the secret is not where it should be, or the target is
            measured from elsewhere.
    """
    if "://" in text:
        url, password = _take_password(_parse(text))
        if password is not None:
            warn(
                f"the password in the URL is visible in the process list until this command ends; name a target in "
                f"{FILE_NAME} and {_WAYS}"
            )
        kind, name = _kind(url), safe_url(url)
        return Request(name, kind, url, password or _asked(kind, url, name))
    configured = _configured()
    for name, fault in configured.items():
        if isinstance(fault, UsageError) and name != text:
            warn(f"{fault}; other targets can be used")
    named = configured.get(text)
    if isinstance(named, UsageError):
        raise named
    if named is not None:
        if named.replaces:
            warn(f"{text} is the target in {named.file}, which replaces that in {named.replaces}")
        if named.origin != HERE and not here:
            raise UsageError(f"{text} is measured from elsewhere (from = {named.origin!r}): dbcpu run and doctor do so")
        return _from_config(named)
    if registry.is_known("targets", text):
        return Request(name=text, kind=text)
    _refuse_logon(text)
    raise UnknownName(
        "target", text, {*configured, *registry.all_names("targets"), "a URL such as postgresql://HOST/DB"}
    )


def targets() -> Mapping[str, Named]:
    """Every configured target that can be used, by name. Raises UsageError naming the file and what is wrong in it."""
    return {name: named for name, named in _configured().items() if isinstance(named, Named)}


def say_faults(warn: Callable[[str], None] = _to_stderr) -> None:
    """A sentence for each target or file that cannot be used, where no target is needed."""
    try:
        faults = [fault for fault in _configured().values() if isinstance(fault, UsageError)]
    except UsageError as error:
        faults = [error]
    for fault in faults:
        warn(str(fault))


def _configured() -> Mapping[str, Named | UsageError]:
    """By name, each as it is in the last file that has it; a fault refuses its target alone. Raises UsageError."""
    found: dict[str, Named | UsageError] = {}
    for file, content in contents():
        for name, table in tables_of(file, content).items():
            earlier = found.get(name)
            try:
                named = checked(name, table, file)
            except UsageError as fault:
                found[name] = fault
                continue
            differs = isinstance(earlier, Named) and named != replace(earlier, file=file)
            found[name] = replace(named, replaces=earlier.file) if isinstance(earlier, Named) and differs else named
    return found


def take_password(url: str) -> tuple[str, str | None]:
    """The URL without any secret, and the password that was in it. Raises UsageError."""
    return _take_password(_parse(url))


def safe_url(url: str) -> str:
    """``url`` with what is or may be secret replaced by ``***``; what cannot be parsed keeps only its scheme."""
    try:
        parsed = _parse(url)
    except UsageError:
        return f"{url.partition('://')[0]}://***" if "://" in url else "***"
    hidden = {key: "***" for key in parsed.query if _is_secret(key)}
    if hidden:
        parsed = parsed.update_query_dict(hidden)
    return parsed.render_as_string(hide_password=True).replace("%2A%2A%2A", "***")


# --- files --------------------------------------------------------------------------------------


def contents(warn: Callable[[str], None] = _once_to_stderr) -> tuple[tuple[Path, dict[str, Any]], ...]:
    """Every configuration file with its tables, the last wins. Raises UsageError as ``targets``.

    ``warn`` gets a sentence about one that is left out because another user can have written it, or as it is no file.
    """
    if named := os.environ.get("DBCPU_CONFIG"):
        file = Path(named)
        if is_hidden(file):
            raise UsageError(f"DBCPU_CONFIG names {named}: Permission denied on the way to it; correct or unset it")
        if not file.is_file():
            raise UsageError(f"DBCPU_CONFIG names {named}, and there is no such file; correct or unset it")
        return ((file, _read(file, file)),)
    found, usual = [], (config_folder(), Path.cwd())
    # sudo leaves the working folder, and often HOME, to a user who may not look into it: nothing is there then.
    for file in filter(is_entry, (folder / FILE_NAME for folder in usual if folder)):
        try:
            if file.is_file():
                found.append((file, _read(file, open_trusted(file))))
            else:
                warn(f"{file} is no file, so it is not used; remove it")
        except UntrustedFile as error:
            warn(f"{error}; if you trust it: DBCPU_CONFIG={file}")
        except OSError as error:
            raise UsageError(f"{file} could not be read: {error.strerror}") from None
    return tuple(found)


def _read(file: Path, source: Path | int) -> dict[str, Any]:
    """``source``: the file's path, or a descriptor, which is closed."""
    import tomllib

    try:
        with open(source, "rb") as stream:  # noqa: PTH123 - a Path opens no descriptor
            text = stream.read(MAX_BYTES + 1)
        if len(text) > MAX_BYTES:
            raise UsageError(f"{file} is larger than {MAX_BYTES >> 10} KiB; docs/configuration.md names what is in it")
        if any(line.count(b".") > MAX_DOTS for line in text.splitlines()):
            raise UsageError(f"{file} has more than {MAX_DOTS} dots in a line; write the tables under headings")
        content = tomllib.loads(text.decode("utf-8-sig"))  # some editors begin with a byte order mark
    except RecursionError:
        raise UsageError(f"{file} is not valid TOML: it is nested too deeply") from None
    except UnicodeDecodeError:
        raise UsageError(f"{file} is not UTF-8 text; save it as UTF-8") from None
    except ValueError as error:  # of TOML, or of a number or date in it
        raise UsageError(f"{file} is not valid TOML: {str(error)[:200]}") from None
    except OSError as error:
        raise UsageError(f"{file} could not be read: {error.strerror}") from None
    only(content, TABLES, str(file))
    return content


def tables_of(file: Path, content: Mapping[str, Any], keys: tuple[str, ...] = TARGET_KEYS) -> dict[str, object]:
    """The tables of the targets by name, with the defaults that they do not have themselves. Raises UsageError."""
    tables, defaults = content.get("targets", {}), content.get("defaults", {})
    if not isinstance(tables, dict):
        raise UsageError(f"{file}: targets is not a table; write [targets.NAME] and below it url = ...")
    if not isinstance(defaults, dict):
        raise UsageError(f"{file}: defaults is not a table; write [defaults] and below it what all targets have")
    only(defaults, keys, f"{file}, [defaults]")
    return {name: _with_defaults(defaults, each) if isinstance(each, dict) else each for name, each in tables.items()}


def _with_defaults(defaults: Mapping[str, Any], table: Mapping[str, Any]) -> Mapping[str, Any]:
    own = any(key.startswith("password") for key in table)
    fitting = {key: value for key, value in defaults.items() if not (own and key.startswith("password"))}
    tags = [each for each in (defaults.get("tags"), table.get("tags")) if isinstance(each, dict)]
    merged = {**fitting, **table}
    return {**merged, "tags": tags[0] | tags[1]} if len(tags) == 2 else merged


def checked(name: str, table: object, file: Path, instead: str = _WAYS) -> Named:
    """The table of one target as a ``Named``. Raises UsageError: what is wrong where, and what to do ``instead``."""
    where = f"{file}, [targets.{name}]"
    if not isinstance(table, dict):
        raise UsageError(f"{where} is not a table; write [targets.{name}] and below it url = ...")
    if name in registry.names("targets"):
        raise UsageError(f"{where}: {name!r} is a kind of database already; give the target another name")
    only(table, TARGET_KEYS, where)
    tags = table.get("tags", {})
    if not isinstance(tags, dict) or not all(isinstance(each, str) and each for each in tags.values()):
        raise UsageError(f'{where}: tags is not a table of texts; write tags = {{ region = "eu" }}')
    for key, value in table.items():
        if key != "tags" and (not isinstance(value, str) or not value):
            raise UsageError(f'{where}: {key} is not text; write {key} = "..."')
    if "url" not in table:
        raise UsageError(f'{where} has no url; add url = "postgresql://USER@HOST/DATABASE"')
    texts = cast("dict[str, str]", table)
    if texts.get("password", PROMPT) != PROMPT:
        raise UsageError(f"{where} holds a password, and a configuration file is no place for one; {instead}")
    if len(ways := [key for key in TARGET_KEYS if key.startswith("password") and key in texts]) > 1:
        raise UsageError(f"{where} has {' and '.join(ways)}; keep one of them")
    if "://" not in texts["url"]:
        _refuse_logon(texts["url"], f"{where}: ")
    elif _take_password(_parse(texts["url"], f"{where}: "))[1] is not None:
        raise UsageError(f"{where}: the url holds a password; take it out of the url and {instead}")
    return Named(
        name,
        texts["url"],
        file,
        texts.get("password_env"),
        texts.get("password_file"),
        "password" in texts,
        texts.get("host"),
        tags=tags,
        group=texts.get("group", ""),
        origin=check_origin(texts, where),
        program=texts.get("program"),
    )


# --- secrets ------------------------------------------------------------------------------------


def _from_config(named: Named) -> Request:
    from dbcpu.config.passwords import asked_for, password_from  # few targets have one to be read or asked for

    where = f"{named.file}, [targets.{named.name}]"
    url = "" if "://" not in named.url else _take_password(_parse(named.url))[0]
    kind = _kind(named.url)
    options = {"host": named.host} if named.host else {}
    if named.password_env:
        password = os.environ.get(named.password_env)
        if not password:
            raise UsageError(f"{where}: the environment has no {named.password_env}; export it before the run")
        return Request(named.name, kind, url, password, options)
    if named.password_file:
        return Request(named.name, kind, url, password_from(named.file.parent, named.password_file, where), options)
    if named.prompt:
        return Request(named.name, kind, url, asked_for(named.name, where), options)
    return Request(named.name, kind, url, _asked(kind, url, named.name), options)


def _asked(kind: str, url: str, name: str) -> str | None:
    """The password of a user who has none yet, where the driver has no store of passwords and a terminal is there."""
    if kind not in _NO_STORE or not url or sys.stdin is None or not sys.stdin.isatty():
        return None
    parsed = _parse(url)
    external = str(parsed.query.get("externalauth", "0")).lower() not in ("0", "false", "no", "off")
    return None if not parsed.username or external else getpass.getpass(f"password for {name}: ")


# --- URLs ---------------------------------------------------------------------------------------


def _parse(text: str, where: str = "") -> "URL":
    """Raises UsageError without the text, which may hold a secret."""
    from sqlalchemy.engine import make_url
    from sqlalchemy.exc import ArgumentError

    form = "write KIND://USER@HOST:PORT/DATABASE, for example postgresql://bench@db1.example:5432/postgres"
    try:
        url = make_url(text)
    except (ArgumentError, ValueError):
        raise UsageError(f"{where}the target URL is not understood; {form}") from None
    if url.port is not None and not is_port(url.port):
        raise UsageError(f"{where}the port of the target URL is {url.port}; give one from {PORT_WORDS}")
    # A password may have a ? in it; what follows then looks like the name of a parameter.
    path, *parameters = re.split("[?&]", text)
    logon = "@" in path or any("@" in each.partition("=")[0] for each in parameters)
    if url.username is None and logon and (url.host or url.get_backend_name() in _NO_FILE):
        raise UsageError(
            f"{where}the target URL has USER/PASSWORD@ in it, as for sqlplus; {form}, and keep the password elsewhere"
        )
    if url.get_backend_name() == "oracle" and "/" in (url.username or ""):
        raise UsageError(f"{where}the user of the target URL has a / in it; {form}, and keep the password elsewhere")
    if "@" in (url.host or "") or (url.host and "@" in text.partition("?")[0].partition("://")[2].partition("/")[2]):
        # The rest of an unescaped password would pass for the host name, be looked up and be shown.
        raise UsageError(
            f"{where}the target URL has more than one @, or one behind a /; inside a name or password write @ as %40 "
            "and / as %2F"
        )
    return url


def _take_password(url: "URL") -> tuple[str, str | None]:
    """The URL as text without any secret, and the password that was in it."""
    from sqlalchemy.engine import URL

    if found := sorted(_OTHER_SECRETS & {key.lower() for key in url.query}):
        raise UsageError(f"the target URL has {', '.join(found)} in it; a URL is shown and stored, keep it elsewhere")
    if _LOGON.search(str(url.query.get("dsn", ""))) or any(_HIDDEN.search(str(each)) for each in url.query.values()):
        raise UsageError("a parameter of the target URL holds a password; a URL is shown and stored, keep it elsewhere")
    password = str(url.password) if url.password is not None else None
    for key in [key for key in url.query if key.lower() == "password"]:
        value = url.query[key]
        password = value if isinstance(value, str) else value[-1]
        url = url.difference_update_query([key])
    # URL.set(password=None) would leave the password as it is.
    bare = URL.create(url.drivername, url.username, None, url.host, url.port, url.database, url.query)
    return bare.render_as_string(hide_password=False), password


def _refuse_logon(text: str, where: str = "") -> None:
    """Raises UsageError for what sqlplus and libpq take: in a message or a record it would show its password."""
    if "=" in text:
        raise UsageError(
            f"{where}a target is a name or a URL, not libpq's KEY=VALUE; for example: "
            "postgresql://USER@HOST:5432/DATABASE, with the password kept elsewhere"
        )
    if "/" in text or "@" in text:
        raise UsageError(
            f"{where}a target is a name or a URL, not a path, and not sqlplus's USER/PASSWORD@DATABASE; for example: "
            "sqlite:///FILE, or oracle+oracledb://USER@HOST:1521/?service_name=NAME with the password kept elsewhere"
        )


def _kind(url: str) -> str:
    """The member of the targets room for a URL or a bare kind."""
    kind = _parse(url).get_backend_name() if "://" in url else url
    if not registry.is_known("targets", kind):
        raise UnknownName("kind of database", kind, registry.all_names("targets"))
    return kind


def _is_secret(key: str) -> bool:
    return key.lower() in ("password", _MAY_HOLD_ONE) or key.lower() in _OTHER_SECRETS
