"""One number for all files of SQL that this dbcpu would run: runs of one campaign do the same work."""

import hashlib
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable


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
