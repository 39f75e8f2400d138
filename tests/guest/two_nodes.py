"""Memory nodes and interrupts for real: a guest with two memory nodes, whose kernel counts where memory is.

An emulator has no slower memory: this proves where memory and interrupts are, not what another place costs.
"""

from collections.abc import Iterator

from dbcpu.record.rounds import RunRecord, Session
from dbcpu.variants._journal import STEPS
from guest.emulated import MEMORY_MB, PACKAGES_DIR, REMOTE, Builder, Result, Shape
from guest.experiment import PROJECT, RESULT

SHAPE = Shape(cores=4, threads=1, nodes=2)
VARIANTS = ("baseline", "node:0", "node:1", "memory:0", "memory:1", "memory:interleave", "irq:away")
POLICIES = {
    "node:0": "bind:0", "node:1": "bind:1", "memory:0": "bind:0", "memory:1": "bind:1",
    "memory:interleave": "interleave:0-1",
}  # fmt: skip
"""By variant, as the kernel shows them; under the others it is ``default``."""
CPUS = {"node:0": (0, 1), "node:1": (2, 3), "irq:away": (1, 2, 3)}
"""By variant, the CPUs of the sessions; under the others they have all."""
SESSIONS, EXECUTIONS, REPEATS = "1-2", 8, 2
ALL, EACH = 0.99, 0.3
"""Of a session's memory: at least so much is where it is bound to, and on each node where it is interleaved."""
MOVED_KILLS = 4
"""Before its first change and after its last a driver has nothing to be put back."""
TOLD = "nodes.txt"
LIMIT_S = 2400.0

_SCRIPT = """
export PYTHONPATH=/tmp/in/kit:{packages} PYTHONDONTWRITEBYTECODE=1 MPLBACKEND=agg DBCPU_STORE=/tmp/runs.db
export DBCPU_JOURNAL=/tmp/journals
mkdir -p /tmp/journals
irqs() {{ for file in /proc/irq/[0-9]*/smp_affinity_list; do echo "$file $(cat $file)"; done; }}
moved() {{ irqs | diff /tmp/before - | grep -c '^>'; }}
servers() {{ cat /proc/[0-9]*/comm | grep -c postgres; }}
left() {{ echo "$(moved) interrupts moved, journals $(ls /tmp/journals | wc -l), servers $(servers)"; }}
irqs > /tmp/before
{{
numactl --hardware
numactl --show | grep policy
echo "interrupts: $(wc -l < /tmp/before), on CPUs $(cut -d' ' -f2 /tmp/before | sort -u | tr '\\n' ' ')"
python3 -m dbcpu vary --yes --variants {variants} --sessions {sessions} --size tiny --executions {executions} \\
  --repeats {repeats} --seed 20170209 --label 'emulated: two memory nodes' --report none \\
  --json /tmp/results/{result} 2>&1
echo "vary: exit $?; afterwards: $(left)"
numactl --show | grep policy
for by in restore guard; do for step in {steps}; do
  python3 /tmp/in/varying_host.py / $step 1 $by irq:away 2>&1
  killed=$(moved)
  if [ $by = restore ]; then python3 -m dbcpu restore 2>&1; fi
  tries=0
  while [ -n "$(ls /tmp/journals)" ] && [ $tries -lt 300 ]; do sleep 0.1; tries=$((tries + 1)); done
  echo "killed at $step: $killed interrupts moved; after $by: $(left)"
done; done
}} | tee /tmp/results/{told} /dev/console
"""
_AS_BEFORE = "0 interrupts moved, journals 0, servers 0"


def nodes(made: Builder) -> Result:
    """All variants in turns, then a driver killed at every step; ``files`` has the record and, in TOLD, the output."""
    script = _SCRIPT.format(
        packages=PACKAGES_DIR, variants=",".join(VARIANTS), sessions=SESSIONS, executions=EXECUTIONS, repeats=REPEATS,
        result=RESULT, steps=" ".join(STEPS), told=TOLD,
    )  # fmt: skip
    folders = {"kit": PROJECT / "kit", "varying_host.py": PROJECT / "tests" / "support" / "varying_host.py"}
    return made.run(script, folders, SHAPE, LIMIT_S, hurry=False)


def complaints(record: RunRecord, told: str) -> list[str]:
    """What is not as it should be: the nodes in the record, where memory was, or what was left behind."""
    return [*_host(record), *_sessions(record), *_left(told)]


def _host(record: RunRecord) -> Iterator[str]:
    host = record.header.host
    if host is None:
        yield "no host is recorded"
        return
    if (found := host.facts.get("node_distances")) != f"10 {REMOTE}; {REMOTE} 10":
        yield f"the distances are {found}"
    free = host.facts.get("node_free_memory", "").split(", ")
    if len(free) != SHAPE.nodes or not all(0 < float(each.split()[0]) <= MEMORY_MB / 1024 for each in free if each):
        yield f"the free memory is {free}"
    if [cpu.node for cpu in host.topology.cpus] != [0, 0, 1, 1]:
        yield "the CPUs are not on two nodes"


def _sessions(record: RunRecord) -> Iterator[str]:
    for each in record.rounds:
        for session in each.sessions:
            wrong = list(_session(each.variant, session))
            yield from (f"{each.variant}, round {each.order}, session {session.ordinal}: {what}" for what in wrong)
    if missing := set(VARIANTS) - {each.variant for each in record.rounds if each.sessions and not each.error}:
        yield f"no round of {sorted(missing)}"


def _session(variant: str, session: Session) -> Iterator[str]:
    policy = POLICIES.get(variant, "default")
    bound = int(policy[-1]) if policy.startswith("bind") else None
    if session.memory_policy != policy:
        yield f"policy {session.memory_policy}, not {policy}"
    if session.memory_nodes != ((0, 1) if bound is None else (bound,)):
        yield f"memory from nodes {session.memory_nodes}"
    shares = shares_of(session)
    least = {0: EACH, 1: EACH} if policy.startswith("interleave") else {} if bound is None else {bound: ALL}
    if not shares:
        yield "where its memory is was not counted"
    elif any(shares.get(node, 0.0) < share for node, share in least.items()):
        yield f"memory by node: {shares}"
    if session.allowed_cpus != CPUS.get(variant, (0, 1, 2, 3)):
        yield f"CPUs {session.allowed_cpus}"


def shares_of(session: Session) -> dict[int, float]:
    """Shares of its memory by node; {} where nothing was counted."""
    whole = sum(each.resident_bytes for each in session.node_memory)
    return {each.node: each.resident_bytes / whole for each in session.node_memory} if whole else {}


def _left(told: str) -> Iterator[str]:
    """A kill counts as tested where interrupts were moved when it came."""
    lines = told.splitlines()
    if f"vary: exit 0; afterwards: {_AS_BEFORE}" not in lines:
        yield "not as before, or failed: " + next((line for line in lines if line.startswith("vary: ")), "vary")
    if [line for line in lines if line.startswith("policy: ")] != ["policy: default"] * 2:
        yield "the memory policy is not as before"
    kills = [line for line in lines if line.startswith("killed at ")]
    yield from (line for line in kills if not line.endswith(_AS_BEFORE))
    if len(kills) != 2 * len(STEPS) or sum(": 0 interrupts moved; after" not in line for line in kills) < MOVED_KILLS:
        yield "not every step was reached with interrupts moved: nothing was tested"
