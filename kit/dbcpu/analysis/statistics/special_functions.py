"""Distribution functions of SciPy, without loading the rest of ``scipy.special``, or anything else of ``scipy``.

The package imports all of NumPy with it (F2PY, polynomials, test tools), which takes several times as long as
explaining a small run. Its compiled module, where the functions are, needs a hundredth of a second.

That module is linked with a BLAS that none of these functions uses. It is loaded with ``one_thread``. Whoever wants
more threads for ``scipy.linalg`` in the same process imports that first.
"""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from dbcpu.analysis.statistics.openblas_threads import one_thread

PACKAGE = "scipy.special"
COMPILED = "scipy.special._ufuncs"
NAMES = ("betainc", "chdtri", "chndtr", "gammaln", "ndtr", "ndtri", "stdtr", "stdtrit")


def compiled() -> ModuleType:
    """The module that has the functions: the compiled one, or the package where it is loaded or built differently."""
    if PACKAGE in sys.modules:
        return sys.modules[PACKAGE]
    spec = importlib.util.find_spec("scipy")
    bare = {}
    for name in ("scipy", "scipy._lib", PACKAGE):
        if name not in sys.modules:
            bare[name] = sys.modules[name] = ModuleType(name)
            below = name.split(".")[1:]
            bare[name].__path__ = [str(Path(each, *below)) for each in (spec and spec.submodule_search_locations) or ()]
    try:
        with one_thread():
            found = importlib.import_module(COMPILED)
    except (ImportError, AttributeError):
        found = bare[PACKAGE]
    finally:
        # Whoever imports the packages later gets them whole, with these same functions.
        for name in bare:
            del sys.modules[name]
    return found if all(hasattr(found, name) for name in NAMES) else importlib.import_module(PACKAGE)


if TYPE_CHECKING:
    from scipy.special import betainc, chdtri, chndtr, gammaln, ndtr, ndtri, stdtr, stdtrit
else:
    _functions = compiled()
    betainc, chdtri, chndtr, gammaln, ndtr, ndtri, stdtr, stdtrit = (getattr(_functions, name) for name in NAMES)

__all__ = ["betainc", "chdtri", "chndtr", "gammaln", "ndtr", "ndtri", "stdtr", "stdtrit"]
