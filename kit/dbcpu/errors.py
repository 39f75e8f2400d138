"""Every error that a user can see: one sentence with what happened, what was found and what to do.

    DbcpuError                 exit 3
    ├── UsageError             exit 2   wrong usage: command line or configuration file
    │   └── UnknownName        exit 2   no such target, workload, size, format, run ...: lists what there is
    ├── MeasureError           exit 3   the measurement could not be made
    │   ├── ConnectError       exit 3   a session could not be opened
    │   ├── BusyHost           exit 4   other work keeps the host busy: nothing was measured (run --if-quiet)
    │   ├── GateError          exit 3   not all sessions reached the gate: nothing was released
    │   └── ServerError        exit 3   the database was lost, or refused the work
    ├── PlugInError            exit 3   a member that an installed package adds cannot be used
    ├── HostError              exit 3   a file of the host could not be read or written
    ├── StoreError             exit 3   results could not be stored or found
    │   ├── NoStoreAddress     exit 2   what was given as a store cannot be one
    │   └── RecordFormatError  exit 3   a record is newer than this program, or DamagedRecord: damaged
    └── Interrupted            exit 130 Ctrl-C, SIGTERM, SIGHUP; finished rounds are stored

Raised low, caught once, in ``dbcpu.cli``. A message never contains a secret: ``without_password`` sees to it.
"""

import re
from collections.abc import Iterable

URL_PASSWORD = re.compile(r"(:/{1,2}[^\s:/@]*):\S*@")
"""Of a URL; a path may have taken one of its two slashes."""
_BEGIN = r"(?<![^\s'\"(=,:])"
_NO_SETTING = r"(?!\d+(?:/\d+)?@\d+(?![\d.]))"
"""Settings of processes have names such as affinity:PID/TID@START."""
_LOGIN = re.compile(
    rf"{_BEGIN}((?!(?:ssh|k8s|docker|podman|exec|mailto):)[^\s'\"(=,:/@]+):(?!/){_NO_SETTING}[^\s'\"]+@(?=[\w\[])"
)
"""USER:PASSWORD@HOST, also behind ssh: and the like, which themselves are no users."""
_SQLPLUS = re.compile(
    rf"(?<![^\s'\"(=,]){_NO_SETTING}([\w$#]+)/(?!PASSWORD@)[^\s'\"/@:]+@(?=[\w/\[])"
    r"(?!\S*\.(?:json|gz|csv|db|toml|html)\b)"
)
"""USER/PASSWORD@DATABASE, and no path of a file."""
_PARAMETER = re.compile(r"(\b\w*(?:passw(?:or)?d|secret|token)=)[^\s&'\"]+", re.IGNORECASE)


def without_password(text: str) -> str:
    """``text`` with ``***`` for what looks like a password: a user gives a URL also where none is expected."""
    if "@" in text:
        text = _SQLPLUS.sub(r"\1/***@", _LOGIN.sub(r"\1:***@", URL_PASSWORD.sub(r"\1:***@", text)))
    return _PARAMETER.sub(r"\1***", text) if "=" in text else text


class DbcpuError(Exception):
    """Base of every expected failure; ``str(error)`` is the sentence shown to the user, without any password."""

    exit_code = 3
    in_campaign = ""
    """The sentence without what to do next, where that is for a run on its own; '' where it is the same."""

    def __str__(self) -> str:
        return without_password(super().__str__())


class UsageError(DbcpuError):
    """The request itself cannot be carried out."""

    exit_code = 2


class UnknownName(UsageError):
    """A name that is not among the known ones."""

    def __init__(self, what: str, name: str, known: Iterable[str]) -> None:
        known = sorted(known)
        listed = ", ".join(repr(each) if "," in each else each for each in known) or "none"
        super().__init__(f"no {what} is called {name!r}{did_you_mean(name, known)}; there are: {listed}")
        self._given = (what, name, known)

    def __reduce__(self) -> tuple[type["UnknownName"], tuple[str, str, list[str]]]:
        # Else a process that waits for this error from another one gets a TypeError, or waits for ever.
        return UnknownName, self._given


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """`` (did you mean 'run'?)`` for the known name that looks most like it; '' where none does."""
    from difflib import get_close_matches

    found = get_close_matches(name, list(known), n=1)
    return f" (did you mean {found[0]!r}?)" if found else ""


class MeasureError(DbcpuError):
    """The measurement could not be made."""


class ConnectError(MeasureError):
    """A session could not be opened."""


class BusyHost(MeasureError):
    """Other work kept the host busy, and it was asked not to be measured then."""

    exit_code = 4


class GateError(MeasureError):
    """Not every session reached the gate, so none was released."""


class ServerError(MeasureError):
    """The database was lost or refused the work."""


class PlugInError(DbcpuError):
    """A member that an installed package adds could not be loaded, or lacks something."""


class HostError(DbcpuError):
    """A file of the measured host could not be read or written."""


class StoreError(DbcpuError):
    """Results could not be stored or found."""


class NoStoreAddress(StoreError):
    """Wrong usage, and nothing was opened."""

    exit_code = 2


class RecordFormatError(StoreError):
    """A record is damaged, or written by a newer version."""


class DamagedRecord(RecordFormatError):
    """``source`` is damaged, for this ``reason``; ``helps``: what to do, by default that for a file."""

    def __init__(self, source: str, reason: str, helps: str = "take it again from where it came") -> None:
        super().__init__(f"{source} is damaged: {reason}; {helps}")
        self.source, self.reason, self.helps = source, reason, helps

    def __reduce__(self) -> tuple[type["DamagedRecord"], tuple[str, str, str]]:
        return DamagedRecord, (self.source, self.reason, self.helps)  # as UnknownName's


class Interrupted(DbcpuError):
    """The user stopped the run; finished rounds are stored."""

    exit_code = 130
