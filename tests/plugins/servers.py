"""Tests that start servers have copies of one cluster, and a workload that takes little CPU."""

import os
import shutil
import tempfile
from pathlib import Path

import pytest

from support import calm_work
from support.servers import kept_cluster

_made = pytest.StashKey[Path]()


def pytest_configure(config: pytest.Config) -> None:
    """Whoever starts the workers makes the folder."""
    if kept_cluster.VARIABLE not in os.environ:
        folder = config.stash[_made] = Path(tempfile.mkdtemp(prefix="dbcpu-clusters-"))
        folder.chmod(0o755)  # the server runs as another user
        os.environ[kept_cluster.VARIABLE] = str(folder)
    kept_cluster.use()
    calm_work.use()


def pytest_unconfigure(config: pytest.Config) -> None:
    if _made in config.stash:
        del os.environ[kept_cluster.VARIABLE]
        shutil.rmtree(config.stash[_made], ignore_errors=True)
