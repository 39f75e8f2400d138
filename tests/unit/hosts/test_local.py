"""What is said of a file of this machine that cannot be written."""

import errno
import os
from pathlib import Path

import pytest

from dbcpu.errors import HostError
from dbcpu.hosts.local import LocalHost


@pytest.mark.parametrize(
    ("number", "end"),
    [(errno.EACCES, "Permission denied; root is needed for most settings"), (errno.EIO, "Input/output error")],
    ids=["not permitted", "the kernel refuses"],
)
def test_root_is_named_only_where_root_would_help(monkeypatch: pytest.MonkeyPatch, number: int, end: str) -> None:
    def refuse(*_: object) -> int:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(Path, "write_text", refuse)
    with pytest.raises(HostError) as told:
        LocalHost().write("/proc/irq/0/smp_affinity_list", "0")
    assert str(told.value) == f"/proc/irq/0/smp_affinity_list could not be written: {end}"
