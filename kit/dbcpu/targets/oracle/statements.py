"""Every statement dbcpu sends to Oracle besides the workloads, read from ``sql/oracle/catalogue/``.

A file holds one statement below a header of ``-- key: value`` lines (``what``, ``needs``, ``source``; ``binds``,
``gives``, ``template`` where it has them), ended by ``;`` for SQL and by ``/`` on a line of its own for PL/SQL.
What is sent is the text without the header and without that end, so that a DBA can read and run all of it.
"""

import re
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable

_HEADER = re.compile(r"^--\s*([a-z]+):\s*(.*)$", re.MULTILINE)


@cache
def names() -> tuple[str, ...]:
    """All statements, sorted."""
    return tuple(sorted(f.name.removesuffix(".sql") for f in _folder().iterdir() if f.name.endswith(".sql")))


@cache
def text(name: str) -> str:
    """The statement as it is sent."""
    lines = (_folder() / f"{name}.sql").read_text("utf-8").splitlines()
    body = "\n".join(line for line in lines if not line.startswith("--")).strip()
    return body.removesuffix("/").rstrip() if body.endswith("/") else body.removesuffix(";").rstrip()


@cache
def header(name: str) -> dict[str, str]:
    """The first line of each key of the header."""
    found = _HEADER.findall((_folder() / f"{name}.sql").read_text("utf-8"))
    return dict(reversed(found))


def filled(name: str, **numbers: int) -> str:
    """A template with its ``:name`` marks replaced by numbers, and by nothing else."""
    statement = text(name)
    for key, number in numbers.items():
        statement = re.sub(rf":{key}\b", str(int(number)), statement)
    return statement


def _folder() -> Traversable:
    return files("dbcpu") / "sql" / "oracle" / "catalogue"
