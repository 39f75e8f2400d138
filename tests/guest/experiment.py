"""dbcpu measured in the emulated guest: its own PostgreSQL, 1 to 4 sessions on 2 cores with 2 threads each."""

import tomllib
from pathlib import Path

from guest.emulated import PACKAGES_DIR, Builder, Result, Shape, cache_folder

PROJECT = Path(__file__).resolve().parents[2]
WITHOUT = ("oracledb",)
"""Packages of the project that the experiment does not need."""
EXECUTIONS, REPEATS = 16, 3
LIMIT_S = 1500.0
RESULT = "run.json.gz"

_SCRIPT = """
export PYTHONPATH=/tmp/in/kit:{packages} PYTHONDONTWRITEBYTECODE=1 MPLBACKEND=agg DBCPU_STORE=/tmp/runs.db
{before}
lscpu -e=CPU,CORE,SOCKET,ONLINE 2>/dev/null
python3 -m dbcpu run --yes --sessions 1-4 --size tiny --executions {executions} --repeats {repeats} --seed 20170105 \\
  --label '{label}' --out /tmp/report --json /tmp/results/{result}
"""


def builder() -> Builder:
    """The guest with what the project needs installed."""
    with (PROJECT / "pyproject.toml").open("rb") as file:
        wanted = tomllib.load(file)["project"]["dependencies"]
    return Builder(cache_folder(), [each for each in wanted if not each.startswith(WITHOUT)])


def measure(made: Builder, shape: Shape, label: str, smt_off: bool = False) -> Result:
    """One run; ``files[RESULT]`` is its record. ``smt_off``: the guest takes its second threads offline first."""
    before = "echo off > /sys/devices/system/cpu/smt/control" if smt_off else ""
    script = _SCRIPT.format(
        packages=PACKAGES_DIR, executions=EXECUTIONS, repeats=REPEATS, label=label, before=before, result=RESULT
    )
    return made.run(script, {"kit": PROJECT / "kit"}, shape, LIMIT_S)
