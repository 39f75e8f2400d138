"""The functions are SciPy's own, also where its package is loaded first or built differently."""

import os
import subprocess
import sys

SHOW = """
import sys
{first}
from dbcpu.analysis.statistics import special_functions
loaded = [name for name in ("scipy.special", "numpy.f2py") if name in sys.modules]
from scipy import special
print(all(getattr(special_functions, name) is getattr(special, name) for name in special_functions.NAMES), loaded)
"""
OTHERS = """
class Other:
    def find_spec(self, name, path=None, target=None):
        if name == "scipy.special._ufuncs":
            sys.meta_path.remove(self)
            raise ImportError("of another version")
sys.meta_path.insert(0, Other())
"""


def _shown(first: str) -> str:
    done = subprocess.run(
        [sys.executable, "-P", "-c", SHOW.format(first=first)], check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


def test_they_are_scipys_and_come_without_the_rest_of_its_package() -> None:
    assert _shown("") == "True []"


def test_where_the_package_is_loaded_they_are_taken_from_it() -> None:
    assert _shown("import scipy.special") == "True ['scipy.special', 'numpy.f2py']"


def test_where_the_compiled_module_cannot_be_loaded_alone_the_package_is() -> None:
    assert _shown(OTHERS) == "True ['scipy.special', 'numpy.f2py']"


def test_no_thread_is_started_for_them_and_nothing_is_left_in_the_environment() -> None:
    show = """
import numpy, os
threads = lambda: len(os.listdir("/proc/self/task"))
before = threads()
from dbcpu.analysis.statistics import special_functions
print(threads() - before, os.environ.get("OPENBLAS_NUM_THREADS"))
"""
    others = {name: value for name, value in os.environ.items() if name != "OPENBLAS_NUM_THREADS"}
    done = subprocess.run([sys.executable, "-P", "-c", show], check=True, capture_output=True, text=True, env=others)
    assert done.stdout.strip() == "0 None"
