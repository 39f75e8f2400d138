"""What is linked with OpenBLAS loads without starting threads.

Else it starts one for each CPU, and each of these spins for up to a tenth of a second, which takes the CPUs from
sessions that are measured. Nothing here multiplies matrices that are large enough for more than one.
"""

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import ModuleType

THREADS = "OPENBLAS_NUM_THREADS"
"""OpenBLAS reads it when it is loaded."""
NUMPY = "numpy"


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


def numpy_with_one_thread() -> None:
    """Once it is loaded, whoever imports it; where it is there already nothing is changed."""
    if NUMPY not in sys.modules and not any(isinstance(each, _Finder) for each in sys.meta_path):
        sys.meta_path.insert(0, _Finder())


class _Finder:
    """Finds NumPy alone, and once."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name != NUMPY:
            return None
        sys.meta_path.remove(self)
        found = PathFinder.find_spec(name, path, target)
        if found is not None and isinstance(found.loader, SourceFileLoader):
            found.loader = _Loader(found.loader.name, found.loader.path)
        return found


class _Loader(SourceFileLoader):
    def exec_module(self, module: ModuleType) -> None:
        with one_thread():
            super().exec_module(module)
