"""A folder that looks like /proc to whoever reads it, for tests of identity, sampling and settling.

Files are rewritten in place: a descriptor that was kept open sees the new text, as with the real ones.
"""

from pathlib import Path

from dbcpu.hosts.local import LocalHost

TICKS = 100
"""Clock ticks per second of the faked kernel."""


class FakeProc:
    """``root``/proc with processes and a /proc/stat; ``host`` reads it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.host = LocalHost(root)
        (root / "proc").mkdir(parents=True)
        self.cpus({0: (0, 0), 1: (0, 0)})

    def cpus(self, ticks: dict[int, tuple[int, int]], boot_s: int = 1_000_000) -> None:
        """(busy as user, idle) ticks of each CPU."""
        total = (sum(busy for busy, _ in ticks.values()), sum(idle for _, idle in ticks.values()))
        rows = [f"cpu  {total[0]} 0 0 {total[1]} 0 0 0 0 0 0"]
        rows += [f"cpu{cpu} {busy} 0 0 {idle} 0 0 0 0 0 0" for cpu, (busy, idle) in ticks.items()]
        self.write("stat", "\n".join([*rows, "intr 1 2 3", f"btime {boot_s}", ""]))

    def process(
        self,
        pid: int,
        *,
        tid: int | None = None,
        command: str = "postgres",
        line: str = "postgres: dbcpu postgres [local] idle",
        state: str = "S",
        cpu: int = 0,
        spent_ticks: int = 0,
        start_ticks: int = 5000,
        schedstat: tuple[int, int] | None = (0, 0),
        nspid: tuple[int, ...] = (),
    ) -> None:
        """Write (again) what /proc shows of a process or thread. ``schedstat``: run and wait in ns. proc(5)

        ``nspid``: its numbers in pid namespaces below this host's, the outermost first.
        """
        folder = f"{pid}/task/{tid}" if tid else f"{pid}"
        fields = ["0"] * 50
        fields[0], fields[11], fields[19] = state, str(spent_ticks), str(start_ticks)
        fields[36] = str(cpu)
        self.write(f"{folder}/stat", f"{tid or pid} ({command}) {' '.join(fields)}\n")
        self.write(f"{pid}/cmdline", line.replace(" ", "\0") + "\0")
        numbers = "\t".join(map(str, (tid or pid, *nspid)))
        self.write(f"{folder}/status", f"NSpid:\t{numbers}\nCpus_allowed_list:\t0-1\nvoluntary_ctxt_switches:\t3\n")
        if schedstat is not None:
            self.write(f"{folder}/schedstat", f"{schedstat[0]} {schedstat[1]} 7\n")

    def write(self, name: str, text: str) -> None:
        path = self.root / "proc" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
