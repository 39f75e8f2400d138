"""A command loads NumPy without threads of OpenBLAS (``one_thread`` says why), whichever module needs it first."""

import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import ModuleType

NUMPY = "numpy"


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
        from dbcpu.analysis.statistics.openblas_threads import one_thread  # a run needs nothing of it until it ends

        with one_thread():
            super().exec_module(module)
