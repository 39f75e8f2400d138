"""Which modules of dbcpu a run loads: until its last round has ended, and until it has ended itself."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

PROGRAM = """
import json, sys
from dbcpu.cli import main

def loaded():
    return sorted(name for name in sys.modules if name.partition(".")[0] == "dbcpu")

def told(*_):
    print(json.dumps(loaded()), file=sys.stderr)
    return 0

if sys.argv[1] == "measuring":
    import dbcpu.workflows.launch
    dbcpu.workflows.launch.Delivery.present = told  # what follows is explained and shown
code = main(sys.argv[2:])
if sys.argv[1] == "whole":
    told()
sys.exit(code)
"""


def loaded_by_run(until: str, folder: Path, *options: str) -> Sequence[str]:
    """Names, sorted, of a short ``dbcpu run sqlite``; ``until``: its ``measuring`` ends, or the ``whole`` of it does.

    ``folder`` gets its store and its report. Raises CalledProcessError.
    """
    command = [sys.executable, "-P", "-c", PROGRAM, until, "run", "sqlite", "--yes", "--quiet", "--repeats", "1",
               "--size", "tiny", "--executions", "1", "--store", str(folder / "runs.db"), "--out", str(folder),
               *options]  # fmt: skip
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "DBCPU_SETTLE_S": "0"}
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    names: list[str] = json.loads(done.stderr.strip().splitlines()[-1])
    return names
