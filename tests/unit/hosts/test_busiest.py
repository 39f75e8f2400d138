"""Who keeps a host busy is named."""

import os
import subprocess
import sys

from dbcpu.hosts.busiest import busiest
from dbcpu.hosts.local import LocalHost
from support.driving import until

TICKS = os.sysconf("SC_CLK_TCK")
NAME = f"busy-{os.getpid()}"
CODE = f"open('/proc/self/comm', 'w').write('{NAME}')\nwhile True: pass"


def found(own_pids: list[int]) -> list[tuple[str, int]]:
    return [(name, pid) for name, pid, _ in busiest(LocalHost(), TICKS, own_pids)]


def test_a_busy_process_is_named_and_an_own_one_is_not() -> None:
    with subprocess.Popen([sys.executable, "-S", "-c", CODE]) as busy:
        try:
            pids = [int(each) for each in LocalHost().list("/proc") if each.isdecimal()]
            others = [pid for pid in pids if pid != busy.pid]
            until(lambda: (NAME, busy.pid) in found(others), "it is seen")
            assert (NAME, busy.pid) not in found([*others, busy.pid])
        finally:
            busy.kill()


def test_without_a_host_nobody_is_named() -> None:
    assert busiest(None, TICKS, ()) == ()
