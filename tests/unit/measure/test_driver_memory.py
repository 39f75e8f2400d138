"""What threads allocated and freed is no longer resident."""

import ctypes
import subprocess
import sys
import textwrap

import pytest

PROGRAM = textwrap.dedent("""
    import threading
    from dbcpu.measure.driver_memory import give_back, one_heap

    def resident():
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * 4096

    def allocate():
        kept.append([bytes(2000) for _ in range(5000)])

    one_heap()
    kept = []
    before = resident()
    threads = [threading.Thread(target=allocate) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    most = resident()
    kept.clear()
    give_back()
    print((most - before) // 1000, (resident() - before) // 1000)
""")


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "malloc_trim"), reason="this C library has no malloc_trim")
def test_what_threads_freed_is_given_back() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], check=True, capture_output=True, text=True)
    most, left = map(int, done.stdout.split())
    assert most > 70_000
    assert left < most / 10
