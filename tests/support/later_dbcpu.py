"""A later dbcpu that upgrades a store: run by tests (forked, see nursery.py) as ``URL FOLDER HEAD``.

``FOLDER`` has its migrations, the last of them ``HEAD``. KILLED="at the end" in its environment: it dies when all is
done and nothing is committed.
"""

import os
import signal
import sys
import warnings
from pathlib import Path
from typing import Any

from dbcpu.store import schema
from dbcpu.store.database import upgrade_store
from dbcpu.store.schema import upgrade


def main() -> None:
    _, url, folder, head = sys.argv
    warnings.simplefilter("error")
    migrate = upgrade._migrate

    def migrate_and_die(*given: Any) -> None:
        migrate(*given)
        os.kill(os.getpid(), signal.SIGKILL)

    setattr(schema, "HEAD", head)  # noqa: B010 - of another version
    setattr(upgrade, "FOLDER", Path(folder))  # noqa: B010
    if os.environ.get("KILLED") == "at the end":
        setattr(upgrade, "_migrate", migrate_and_die)  # noqa: B010
    print(upgrade_store(url))
