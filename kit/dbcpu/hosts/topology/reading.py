"""Files of a host read so that whatever is absent, forbidden or malformed becomes ``None``."""

from dbcpu.errors import DbcpuError
from dbcpu.formatting import as_cpu_list
from dbcpu.hosts.base import Host


def text_of(host: Host, path: str) -> str | None:
    """The file's text without surrounding blanks; ``None`` when it cannot be read."""
    try:
        return host.read(path).strip().strip("\x00")
    except (OSError, DbcpuError):
        return None


def number_of(host: Host, path: str) -> int | None:
    """The file's one decimal integer."""
    return as_number(text_of(host, path))


def cpus_of(host: Host, path: str) -> tuple[int, ...] | None:
    """The file's CPU list."""
    text = text_of(host, path)
    return None if text is None else as_cpu_list(text)


def as_number(text: str | None) -> int | None:
    try:
        return int(text) if text else None
    except ValueError:
        return None


def fields_of(host: Host, path: str, separator: str = ":") -> dict[str, str]:
    """``key: value`` lines; the first of several equal keys counts. Empty when the file cannot be read."""
    found: dict[str, str] = {}
    for line in (text_of(host, path) or "").splitlines():
        key, split, value = line.partition(separator)
        if split:
            found.setdefault(key.strip(), value.strip())
    return found


def listed(host: Host, path: str) -> tuple[str, ...]:
    """Names in a folder; () when there is none or it may not be read."""
    try:
        return host.list(path)
    except (OSError, DbcpuError):
        return ()


def bytes_of(text: str | None) -> int | None:
    """``32768K``, ``16M`` or ``4096 kB`` in bytes."""
    if not text:
        return None
    compact = text.strip().removesuffix("B").rstrip().upper()
    scale = {"K": 1024, "M": 1024**2, "G": 1024**3}.get(compact[-1:], 1)
    number = as_number(compact if scale == 1 else compact[:-1].strip())
    return None if number is None else number * scale
