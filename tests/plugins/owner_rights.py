"""Tests of folders that their owner has closed, where the user of the tests may look into every folder."""

import ctypes
import os
from collections.abc import Iterator

import pytest

VERSION_3 = 0x20080522
CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH = 1 << 1, 1 << 2
"""See capabilities(7) and capget(2)."""
EFFECTIVE = 0


@pytest.fixture
def owner_rights() -> Iterator[None]:
    """The test's thread without the capabilities to read and enter what its owner may not; root is such an owner."""
    libc = ctypes.CDLL(None, use_errno=True)
    header, sets = (ctypes.c_uint32 * 2)(VERSION_3, 0), (ctypes.c_uint32 * 6)()
    if libc.capget(header, sets) != 0:
        pytest.skip(f"this machine does not tell capabilities: {os.strerror(ctypes.get_errno())}")
    before = sets[EFFECTIVE]
    if os.geteuid() != 0 and before & CAP_DAC_READ_SEARCH:
        pytest.skip("this machine's user may look into every folder, and may need that to read Python")
    sets[EFFECTIVE] = before & ~(CAP_DAC_OVERRIDE | CAP_DAC_READ_SEARCH)
    assert libc.capset(header, sets) == 0, os.strerror(ctypes.get_errno())
    try:
        yield
    finally:
        sets[EFFECTIVE] = before
        assert libc.capset(header, sets) == 0, os.strerror(ctypes.get_errno())
