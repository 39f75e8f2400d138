"""Packages that only one form of output needs, and what is said where one is missing."""

import sys
from importlib.util import find_spec

from dbcpu.errors import UsageError


def not_installed(form: str, package: str, extra: str, instead: str) -> UsageError:
    """The error for a ``form`` that needs ``package``; ``instead``: what does without it."""
    return UsageError(
        f"{form} needs the package {package}, which is not installed; {install(package)} "
        f"(extra dbcpu[{extra}]), and {instead} does without"
    )


def install(package: str) -> str:
    """The command that installs a package beside this dbcpu, by pip where its environment has pip, else by uv."""
    pip = f"{sys.executable} -m pip install" if find_spec("pip") else f"uv pip install --python {sys.executable}"
    return f"`{pip} {package}` installs it"
