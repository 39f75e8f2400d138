"""What is linked with OpenBLAS loads without starting threads.

Else it starts one for each CPU, and each of these spins for up to a tenth of a second, which takes the CPUs from
sessions that are measured. Nothing here multiplies matrices that are large enough for more than one.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager

THREADS = "OPENBLAS_NUM_THREADS"
"""OpenBLAS reads it when it is loaded."""


@contextmanager
def one_thread() -> Iterator[None]:
    """Unless somebody has chosen how many; what is started later does not inherit it."""
    chosen = THREADS in os.environ
    os.environ.setdefault(THREADS, "1")
    try:
        yield
    finally:
        if not chosen:
            del os.environ[THREADS]
