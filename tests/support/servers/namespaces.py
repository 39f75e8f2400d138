"""Process numbers of one's own, as in a container. Source: unshare(1)"""

import os
import subprocess
from functools import cache

import pytest


def skip_without_pid_namespace() -> None:
    """Where a test needs a pid namespace: root, and a machine that lets root make one (many containers do not)."""
    if os.geteuid() != 0:
        pytest.skip("this machine's tests do not run as root: no pid namespace can be made")
    if not _can_unshare():
        pytest.skip("this machine does not permit unshare: no pid namespace can be made")


@cache
def _can_unshare() -> bool:
    tried = subprocess.run(["unshare", "--pid", "--fork", "--mount-proc", "true"], check=False, capture_output=True)
    return tried.returncode == 0
