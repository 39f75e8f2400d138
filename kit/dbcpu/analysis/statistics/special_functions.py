"""Distribution functions of SciPy, without loading the rest of ``scipy.special``.

The package imports all of NumPy with it (F2PY, polynomials, test tools), which takes several times as long as
explaining a small run. Its compiled module, where the functions are, needs a hundredth of a second.
"""

import importlib
import sys
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

PACKAGE = "scipy.special"
COMPILED = "scipy.special._ufuncs"
NAMES = ("betainc", "chdtri", "chndtr", "gammaln", "ndtr", "ndtri", "stdtr", "stdtrit")


def compiled() -> ModuleType:
    """The module that has the functions: the compiled one, or the package where it is loaded or built differently."""
    if PACKAGE in sys.modules:
        return sys.modules[PACKAGE]
    import scipy

    bare = ModuleType(PACKAGE)
    bare.__path__ = [str(Path(each) / "special") for each in scipy.__path__]
    sys.modules[PACKAGE] = bare
    try:
        found = importlib.import_module(COMPILED)
    except (ImportError, AttributeError):
        found = bare
    finally:
        # Whoever imports the package later gets it whole, with these same functions.
        del sys.modules[PACKAGE]
    return found if all(hasattr(found, name) for name in NAMES) else importlib.import_module(PACKAGE)


if TYPE_CHECKING:
    from scipy.special import betainc, chdtri, chndtr, gammaln, ndtr, ndtri, stdtr, stdtrit
else:
    _functions = compiled()
    betainc, chdtri, chndtr, gammaln, ndtr, ndtri, stdtr, stdtrit = (getattr(_functions, name) for name in NAMES)

__all__ = ["betainc", "chdtri", "chndtr", "gammaln", "ndtr", "ndtri", "stdtr", "stdtrit"]
