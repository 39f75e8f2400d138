"""What hosts and servers say: /proc and /sys, journals, answers over ssh, and banners of database servers."""

import io
import os
import select
import socket
import tarfile
import threading
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

from hypothesis import strategies as st

from dbcpu.config.request import Request
from dbcpu.errors import DbcpuError, HostError
from dbcpu.hosts.local import LocalHost
from dbcpu.hosts.recorded import RecordedHost
from dbcpu.hosts.shell_connection import ShellConnection
from dbcpu.hosts.ssh import open_host
from dbcpu.hosts.topology import limits_of, read_host
from dbcpu.record.header import Database
from dbcpu.registry import load, names
from dbcpu.targets.base import load_target
from dbcpu.variants.base import VariantContext
from fuzz.mutations import NUMBERS, TEXTS, dumped, mutated_json, mutated_lines
from fuzz.sandbox import Sandbox
from support.paths import HOSTS

ARCHIVES = ("two-sockets", "cgroup-v1-quota", "hybrid", "container-quota-4", "this-vm-2-vcpu", "cpuset-limited")
ARGUMENTS = {"cpus": "0-3", "node": "0", "policy": "batch", "cage": "2", "ncpus": "2"}


# --- /proc and /sys -----------------------------------------------------------------------------


@cache
def _files(name: str) -> dict[str, str]:
    with tarfile.open(HOSTS / f"{name}.tar.gz") as archive:
        found = {
            "/" + member.name.lstrip("./"): (archive.extractfile(member) or io.BytesIO()).read()
            for member in archive
            if member.isreg()
        }
    whole = {path: text.decode("utf-8", "replace") for path, text in found.items()}
    if not any(path.startswith(("/proc/", "/sys/")) for path in whole):
        whole = {"/" + path.split("/", 2)[2]: text for path, text in whole.items()}
    return whole


@st.composite
def hosts(draw: Any) -> tuple[RecordedHost, tuple[str, ...]]:
    """A recorded host some of whose files say something else, or are gone; and a command."""
    files = dict(_files(draw(st.sampled_from(ARCHIVES))))
    for _ in range(draw(st.integers(1, 5))):
        path = draw(st.sampled_from(sorted(files)))
        match draw(st.sampled_from(["change", "change", "gone", "other", "new"])):
            case "change":
                files[path] = mutated_lines(draw, files[path][:20_000], " =,:-\t\n/")
            case "gone":
                files = {name: text for name, text in files.items() if not name.startswith(path)}
            case "other":
                files[path] = files[draw(st.sampled_from(sorted(files)))]
            case "new":
                files[path.replace("cpu0", f"cpu{draw(st.sampled_from([-1, 9, 70000, 10**12, '', 'x', '٣']))}")] = "1\n"
        if not files:
            files = {"/proc/stat": "cpu"}
    return RecordedHost("fuzz", files), draw(
        st.sampled_from([("topology", "--host", "x"), ("topology", "--host", "x", "--json")])
    )


def read_host_tree(box: Sandbox, given: tuple[RecordedHost, tuple[str, ...]]) -> None:
    host, command = given
    with patch("dbcpu.hosts.recorded.open_host", lambda _: host):
        box.command(*command)
    box.call(lambda: limits_of(host, 4711))
    box.call(lambda: _planned(host))


def _planned(host: RecordedHost) -> None:
    """What each variant would change there."""
    context = VariantContext(read_host(host), Database("postgresql", "18"))
    for name in names("variants"):
        member: Any = load("variants", name)
        argument = ARGUMENTS.get(name, "")
        member.check(argument)
        if member.why_not(argument, context) is None:
            member.changes(argument, context, 3)


# --- journals -----------------------------------------------------------------------------------

_JOURNAL = (
    {"journal": 1, "host": "local", "boot_id": "the-first-boot", "target": "db1", "pid": 24549},
    {"change": 0, "what": "affinity:4242@77", "before": "0-79", "after": ""},
    {"change": 1, "what": "policy:4242/4243@77", "before": "other", "after": "batch"},
    {"change": 2, "what": "file:/proc/irq/30/smp_affinity_list", "before": "41", "after": ""},
    {"change": 3, "what": "file:/sys/devices/system/cpu/smt/control", "before": "on", "after": "off"},
    {"change": 4, "what": "parameter:cpu_count", "before": "", "after": "2"},
    {"undone": 2},
)
_JUNK = st.sampled_from([b"\xff\xfe\n", b"[" * 5000 + b"\n", b"\0" * 10, b"{}\n", b"[]\n", b"1\n", b'{"change": 5\n'])


class _Unchangeable(LocalHost):
    """A host of a few files, whatever the journal calls it: no input of the fuzzer reaches the real one."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        for name, text in (("sys/devices/system/cpu/smt/control", "off"), ("proc/irq/30/smp_affinity_list", "1"),
                           ("proc/sys/kernel/random/boot_id", "the-first-boot\n"),
                           ("proc/4242/stat", f"4242 (x) S {' '.join(['1'] * 17)} 77 {' '.join(['0'] * 30)}\n"),
                           ("proc/4242/status", "Cpus_allowed_list:\t0-3\n")):  # fmt: skip
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)

    def run(self, argv: tuple[str, ...], timeout_s: float) -> Any:
        raise HostError(f"{argv[0]} was not run: nothing is changed here")


@st.composite
def journals(draw: Any) -> tuple[list[bytes], bool]:
    """One or two journals, and whether what they say is only shown."""
    texts = []
    for _ in range(draw(st.integers(1, 2))):
        lines = mutated_json(draw, list(_JOURNAL), most=4)
        text = "".join(f"{dumped(line)}\n" for line in lines)
        if draw(st.integers(0, 2)) == 0:
            text = mutated_lines(draw, text, ' ":,{}')
        content = text.encode("utf-8", "surrogatepass")
        if draw(st.integers(0, 5)) == 0:
            at = draw(st.integers(0, len(content)))
            content = content[:at] + draw(_JUNK) + content[at:]
        texts.append(content)
    return texts, draw(st.booleans())


def restore_journals(box: Sandbox, given: tuple[list[bytes], bool]) -> None:
    box.tidy()
    contents, dry_run = given
    for number, content in enumerate(contents):
        (box.journals / f"{number}.journal").write_bytes(content)
    host = _Unchangeable(box.work / "root")
    with patch("dbcpu.variants._restore.host_named", lambda _: host):
        box.command("restore", *(["--dry-run"] if dry_run else []))
        box.call(_findings)


def _findings() -> None:
    from dbcpu.variants._restore import findings

    findings()


# --- ssh ----------------------------------------------------------------------------------------

_GREETING = "Welcome!\ndbcpu-system\nLinux\ndbcpu-host 1 4711 4710 100\n"
_ANSWERS = (
    "+/proc/4710/stat\n|4710 (sshd) S 1\n.\n",  # its parent
    "+/proc/stat\n|cpu 1 2 3 4\n|cpu0 1 2 3 4\n+/proc/uptime\n|100.25 50.00\n-\n.\n",
    "+/proc/uptime\n|100.25 50.00\n.\n",
    "|node0\n|node1\n.\n",
    "s0\n|s0\n|ofine\n|ebad\n.\n",
    "|4711 (x) S 1 1\n.\n",
    ".\n",
    "|100.25\nR 3 77 1000 200\n-\n|cpu 1 2 3 4\n.\n",
)


@st.composite
def ssh_answers(draw: Any) -> bytes:
    """All that the far end sends: its greeting and answers, some of them changed."""
    greeting = mutated_lines(draw, _GREETING, " ", most=2) if draw(st.booleans()) else _GREETING
    answers = [mutated_lines(draw, each, " |+/", most=2) if draw(st.booleans()) else each for each in _ANSWERS]
    return (greeting + "".join(answers)).encode("utf-8", "surrogatepass")[:60_000]


class _FarEnd:
    """Looks like a process that has sent all it ever sends."""

    pid = 0

    def __init__(self, said: bytes) -> None:
        reading, writing = os.pipe()
        os.write(writing, said)
        os.close(writing)
        self.stdout: Any = os.fdopen(reading, "rb", buffering=0)
        self.stdin: Any = Path(os.devnull).open("wb", buffering=0)  # noqa: SIM115 - closed with the connection

    def wait(self, timeout: float | None = None) -> int:
        return 255

    def kill(self) -> None: ...


def ask_over_ssh(box: Sandbox, said: bytes) -> None:
    with patch.object(ShellConnection, "_launch", lambda self, command: _FarEnd(said)):
        box.call(_ask_everything)


def _ask_everything() -> None:
    with open_host("far") as host:
        questions: tuple[Callable[[], object], ...] = (
            lambda: host.read_all(["/proc/stat", "/proc/uptime"]),
            host.clock,
            lambda: host.list("/sys/devices/system/node"),
            lambda: host.run(("taskset", "-p", "1"), 1.0),
            host.process_stats,
            lambda: host.watch(["/proc/4711", "/proc/4712"]),
            lambda: host.poll(True),
            lambda: read_host(host),
        )
        for question in questions:
            try:
                question()
            except (DbcpuError, OSError):
                continue


# --- database servers ---------------------------------------------------------------------------


def _message(kind: bytes, content: bytes) -> bytes:
    return kind + (len(content) + 4).to_bytes(4, "big") + content


_READY = _message(b"Z", b"I")
_ROW = (b"name", b"setting")


def _rows(*cells: bytes | None) -> bytes:
    """The answer to a statement with one row of these cells."""
    described = len(cells).to_bytes(2, "big") + b"".join(
        name + b"\0" + bytes(6) + (25).to_bytes(4, "big") + (0xFFFF).to_bytes(2, "big") + bytes(6)
        for name in [b"x"] * len(cells)
    )
    row = len(cells).to_bytes(2, "big") + b"".join(
        b"\xff\xff\xff\xff" if cell is None else len(cell).to_bytes(4, "big") + cell for cell in cells
    )
    return (_message(b"1", b"") + _message(b"2", b"") + _message(b"T", described) + _message(b"D", row)
            + _message(b"C", b"SELECT 1\0") + _READY)  # fmt: skip


_WELCOME = _message(b"R", bytes(4)) + _message(b"S", b"server_version\x0018.1\0") + _message(b"K", bytes(8)) + _READY
WAIT_S = 0.2
_CELLS = st.none() | st.one_of(NUMBERS.map(repr), TEXTS).map(lambda text: text.encode("utf-8", "replace")[:400])


@st.composite
def banners(draw: Any) -> tuple[str, list[bytes]]:
    """The kind of database that is expected, and what a server sends after each thing it receives."""
    kind = draw(st.sampled_from(["postgresql", "postgresql", "postgresql", "oracle"]))
    if kind == "oracle" or draw(st.integers(0, 3)) == 0:
        return kind, [draw(st.binary(max_size=60) | st.sampled_from([b"HTTP/1.1 400 Bad Request\r\n\r\n", b"N", b"S"]))]
    answers = [b"N", _WELCOME]
    for _ in range(draw(st.integers(1, 4))):
        answers.append(_rows(*draw(st.lists(_CELLS, max_size=3))))
    at = draw(st.integers(0, len(answers) - 1))
    if draw(st.integers(0, 4)) == 0:
        answers[at] = answers[at][: draw(st.integers(0, len(answers[at])))] + draw(st.binary(max_size=8))
    return kind, answers


def meet_server(box: Sandbox, given: tuple[str, list[bytes]]) -> None:
    kind, answers = given
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        thread = threading.Thread(target=_serve, args=(server, answers), daemon=True)
        thread.start()
        if kind == "oracle":
            url = f"oracle+oracledb://u@127.0.0.1:{port}/?service_name=x"
        else:
            url = f"postgresql://u@127.0.0.1:{port}/d?sslmode=prefer&gssencmode=disable&connect_timeout=2"
        box.call(lambda: _use(Request("fuzz", kind, url, "secret")))
    thread.join()


def _serve(server: socket.socket, answers: list[bytes]) -> None:
    """One connection: an answer to each thing that is received, then the end."""
    server.settimeout(1.0)
    try:
        connection, _ = server.accept()
        with connection:
            connection.settimeout(WAIT_S)
            for answer in answers:
                if not connection.recv(65_536):
                    return
                connection.sendall(answer)
                if not select.select([connection], [], [], WAIT_S)[0]:
                    return
    except OSError:
        return


def _use(request: Request) -> None:
    """What a run asks before it begins; errors of one question keep no other from being asked."""
    from dbcpu.hosts.cleanup_guard import Guard

    with load_target(request.kind).open_target(request, Guard.__new__(Guard)) as target:
        for question in (target.describe, target.host, target.connections_free, target.findings, target.clock):
            try:
                question()
            except DbcpuError:
                continue
