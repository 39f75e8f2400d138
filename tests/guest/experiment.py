"""dbcpu measured in the emulated guest: its own PostgreSQL, 1 to 4 sessions on 2 cores with 2 threads each."""

import tempfile
import tomllib
from pathlib import Path

from dbcpu.hosts.recorded import open_host
from dbcpu.hosts.topology import read_topology
from dbcpu.variants._journal import STEPS
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

VARIANTS = ("baseline", "smt_off", "one_per_core", "spread", "pack")
VARY_LIMIT_S = 3600.0
_VARY = """
export PYTHONPATH=/tmp/in/kit:{packages} PYTHONDONTWRITEBYTECODE=1 MPLBACKEND=agg DBCPU_STORE=/tmp/runs.db
lscpu -e=CPU,CORE,SOCKET,ONLINE 2>/dev/null
python3 -m dbcpu vary --yes --variants {variants} --sessions {sessions} --size tiny --executions {executions} \\
  --repeats {repeats} --seed 20170127 --label '{label}' --out /tmp/report --json /tmp/results/{result}
echo "afterwards: SMT $(cat /sys/devices/system/cpu/smt/control), online $(cat /sys/devices/system/cpu/online)"
"""

_UNDO = """
export PYTHONPATH=/tmp/in/kit:{packages} PYTHONDONTWRITEBYTECODE=1 DBCPU_JOURNAL=/tmp/journals
smt() {{ echo "SMT $(cat /sys/devices/system/cpu/smt/control), online $(cat /sys/devices/system/cpu/online)"; }}
mkdir -p /tmp/journals
taskset -c 1 sleep 100000 &
bound=$!
for by in restore guard; do for step in {steps}; do
  python3 /tmp/in/varying_host.py / $step 1 $by
  killed=$(smt)
  if [ $by = restore ]; then python3 -m dbcpu restore; fi
  tries=0
  while [ -n "$(ls /tmp/journals)" ] && [ $tries -lt 300 ]; do sleep 0.1; tries=$((tries + 1)); done
  echo "killed at $step: $killed; after $by: $(smt), bound to $(taskset -pc $bound | sed 's/.*: //')," \\
    "journals $(ls /tmp/journals | wc -l)"
done; done | tee /tmp/results/{undone}
kill $bound
"""
_KIT = """
export PYTHONPATH=/tmp/in/kit:{packages} PYTHONDONTWRITEBYTECODE=1 DBCPU_JOURNAL=/tmp/journals
smt() {{ echo "SMT $(cat /sys/devices/system/cpu/smt/control), online $(cat /sys/devices/system/cpu/online)"; }}
mkdir -p /tmp/journals
for order in status off status restore; do
  sh shell/smt $order && smt && sh shell/topology || echo "smt $order: exit $?"
done
sh shell/capture-host -n emulated -o /tmp/results/{captured}
sh shell/increment -r {repeats} -s short -o /tmp/results/{counted} 1-4 3
"""
CAPTURED, COUNTED = "host.tar.gz", "counted.txt"
OFF_AND_BACK = ("SMT on, online 0-3", "SMT off, online 0,2", "SMT off, online 0,2", "SMT on, online 0-3")
UNDONE = "undone.txt"
AS_IT_WAS = "SMT on, online 0-3, bound to 1, journals 0"


def builder() -> Builder:
    """The guest with what the project needs installed."""
    with (PROJECT / "pyproject.toml").open("rb") as file:
        wanted = tomllib.load(file)["project"]["dependencies"]
    return Builder(cache_folder(), [each for each in wanted if not each.startswith(WITHOUT)])


def measure(made: Builder, shape: Shape, label: str, smt_off: bool = False, executions: int = EXECUTIONS) -> Result:
    """One run; ``files[RESULT]`` is its record. ``smt_off``: the guest takes its second threads offline first.

    ``executions`` of each session: a piece of the witness takes some ms here, so that at 1 % of a CPU sessions have to
    take 8 s and more to have enough of them.
    """
    before = "echo off > /sys/devices/system/cpu/smt/control" if smt_off else ""
    script = _SCRIPT.format(
        packages=PACKAGES_DIR, executions=executions, repeats=REPEATS, label=label, before=before, result=RESULT
    )
    return made.run(script, {"kit": PROJECT / "kit"}, shape, LIMIT_S)


def vary(made: Builder, label: str, sessions: str, repeats: int) -> Result:
    """All variants in turns; ``files[RESULT]`` is the record."""
    script = _VARY.format(
        packages=PACKAGES_DIR, variants=",".join(VARIANTS), sessions=sessions, executions=EXECUTIONS, repeats=repeats,
        label=label, result=RESULT,
    )  # fmt: skip
    return made.run(script, {"kit": PROJECT / "kit"}, Shape(), VARY_LIMIT_S)


def undo(made: Builder) -> Result:
    """SMT switched off for real and the driver killed at every step; ``files[UNDONE]`` has a line for each."""
    script = _UNDO.format(packages=PACKAGES_DIR, steps=" ".join(STEPS), undone=UNDONE)
    folders = {"kit": PROJECT / "kit", "varying_host.py": PROJECT / "tests" / "support" / "varying_host.py"}
    return made.run(script, folders, Shape(), LIMIT_S)


def kit(made: Builder) -> Result:
    """The shell kit without Python: SMT off and back, the topology, a capture, and N counting shells.

    ``files[COUNTED]`` are the lines of these, for ``dbcpu import``; ``files[CAPTURED]`` is the archive.
    """
    script = _KIT.format(packages=PACKAGES_DIR, captured=CAPTURED, counted=COUNTED, repeats=REPEATS)
    return made.run(script, {name: PROJECT / name for name in ("kit", "shell", "sql")}, Shape(), LIMIT_S)


def kit_complaints(result: Result) -> list[str]:
    """What the shell kit did not find in a guest with 2 cores x 2 threads, or did not put back."""
    lines = result.output.splitlines()
    states = tuple(line for line in lines if line.startswith(("SMT on,", "SMT off,")))
    found = [] if states == OFF_AND_BACK else [f"SMT went {states}, not {OFF_AND_BACK}"]
    drawn = [line for line in lines if " CPUs on 2 cores" in line and "up to 2 threads share a core" in line]
    if [line.split()[0] for line in drawn] != ["4", "4"]:
        found.append(f"the topology was drawn as {drawn}")
    with tempfile.TemporaryDirectory() as folder:
        archive = Path(folder, CAPTURED)
        archive.write_bytes(result.files[CAPTURED])
        siblings = {each.siblings for each in read_topology(open_host(str(archive))).cpus}
    return found if siblings == {(0, 1), (2, 3)} else [*found, f"the capture has the siblings {siblings}"]


def not_undone(lines: str) -> list[str]:
    """Lines of ``undo`` that do not end as it began. At least one kill has to have found SMT off."""
    told = [line for line in lines.splitlines() if line.startswith("killed at ")]
    wrong = [line for line in told if not line.endswith(AS_IT_WAS)]
    if sum(": SMT off, online 0,2;" in line for line in told) < 4 or len(told) != 2 * len(STEPS):
        wrong.append("not every step was reached with SMT off: nothing was tested")
    return wrong
