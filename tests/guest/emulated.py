"""Build an emulated guest from Debian packages, run a command in it with pinned virtual CPUs, get files back.

The parts (kernel, initramfs, root disk) are built once into a cache folder; a run writes to none of them. The guest
reads its input from, and leaves its results on, a raw disk that holds a tar archive. It ends by itself, or is
ended after ``limit_s``; nothing is left behind but the cache.
"""

import gzip
import io
import json
import os
import platform
import shutil
import socket
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from support.priority import prefer

PACKAGES = ("qemu-system-x86", "busybox-static", "cpio", "kmod", "e2fsprogs", "debootstrap")
_PROGRAMS = ("qemu-system-x86_64", "busybox", "cpio", "depmod", "mke2fs", "debootstrap", "apt-get", "dpkg")
KERNEL_PACKAGE = "linux-image-cloud-amd64"
MODULES = ("virtio_pci", "virtio_blk", "ext4", "crc32c_generic")
INCLUDED = "python3,iproute2,numactl"
"""Debian packages of the root disk beside the smallest ones."""
ROOT_DISK = "3G"
MEMORY_MB = 3072
REMOTE = 21
"""Distance to another memory node, as usual with two sockets; to its own it is 10. Source: ACPI, SLIT"""
EXCHANGE_BYTES = 256 * 2**20
PACKAGES_DIR = "/opt/packages"
"""Where the Python packages lie in the guest."""
BUILD_LIMIT_S = 1200.0
QMP_LIMIT_S = 20.0
NICE = -15

_INIT = """#!/bin/busybox sh
/bin/busybox mkdir -p /proc /sys /dev /mnt
/bin/busybox mount -t proc none /proc
/bin/busybox mount -t sysfs none /sys
/bin/busybox mount -t devtmpfs none /dev
for module in {modules}; do /bin/busybox modprobe $module; done
if /bin/busybox mount -t ext4 /dev/vda /mnt; then
  for part in proc sys dev; do /bin/busybox mount --move /$part /mnt/$part; done
  /bin/busybox mount -t tmpfs none /mnt/tmp
  /bin/busybox chroot /mnt /bin/sh /guest
fi
/bin/busybox poweroff -f
"""

_GUEST = """export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8
mkdir -p /tmp/in /tmp/results /dev/shm
chmod 1777 /tmp
mount -t tmpfs none /dev/shm
ip link set lo up 2>/dev/null
tar -x -C /tmp/in -f /dev/vdb
cd /tmp/in
sh ./run > /tmp/results/output 2>&1
echo $? > /tmp/results/status
tar -c -C /tmp/results -f /dev/vdb .
sync
"""


class Shape(Struct, frozen=True):
    """The guest's processor. ``told`` False: the same virtual CPUs on the same CPUs, but all shown as cores.

    ``nodes``: a socket each, with equal parts of the CPUs and of the memory; all of it is as fast from any CPU.
    """

    cores: int = 2
    threads: int = 2
    told: bool = True
    nodes: int = 1

    @property
    def cpus(self) -> int:
        return self.cores * self.threads

    @property
    def smp(self) -> str:
        threads = self.threads if self.told else 1
        return f"{self.cpus},sockets={self.nodes},cores={self.cpus // threads // self.nodes},threads={threads}"

    def numa(self, memory_mb: int) -> list[str]:
        """QEMU's options for the memory nodes and their distances. Source: QEMU manual, -numa"""
        if self.nodes == 1:
            return []
        each, own = memory_mb // self.nodes, self.cpus // self.nodes
        options: list[str] = []
        for node in range(self.nodes):
            options += ["-object", f"memory-backend-ram,id=m{node},size={each}M"]
            options += ["-numa", f"node,nodeid={node},cpus={node * own}-{node * own + own - 1},memdev=m{node}"]
        pairs = [(here, there) for here in range(self.nodes) for there in range(self.nodes) if here != there]
        return options + [part for a, b in pairs for part in ("-numa", f"dist,src={a},dst={b},val={REMOTE}")]

    def host_cpu(self, cpu: int, usable: Sequence[int]) -> int:
        """CPU of this machine for a virtual CPU: siblings are numbered one after the other, and share one."""
        return usable[cpu // self.threads % len(usable)]


class Result(Struct, frozen=True):
    """What came back: exit status (None: it did not end in time), all output, files by name, and the console."""

    status: int | None
    output: str
    files: Mapping[str, bytes]
    console: str


def cache_folder() -> Path:
    """$DBCPU_GUEST_CACHE, else a folder of the user's cache, outside of the repository."""
    named = os.environ.get("DBCPU_GUEST_CACHE")
    return Path(named) if named else Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "dbcpu-guest"


def why_not() -> str | None:
    """Why no guest can be built here, or None."""
    if platform.machine() != "x86_64":
        return f"this machine is no x86_64 but {platform.machine()}"
    if os.geteuid() != 0:
        return "this machine lets only root unpack a root file system"
    missing = [name for name in _PROGRAMS if shutil.which(name) is None]
    if missing:
        return f"not installed: {', '.join(missing)}; they come with {' '.join(PACKAGES)}"
    return None if len(os.sched_getaffinity(0)) >= 2 else "this machine has one CPU"


class Builder:
    """Kernel, initramfs and root disk in ``folder``; what is there already is taken as it is."""

    def __init__(self, folder: Path, requirements: Sequence[str]) -> None:
        self.folder, self.requirements = folder, tuple(requirements)
        self.kernel, self.initramfs, self.disk = folder / "vmlinuz", folder / "initramfs", folder / "root.ext4"

    def build(self) -> None:
        """Raises CalledProcessError or OSError when a part cannot be had."""
        self.folder.mkdir(parents=True, exist_ok=True)
        wanted = json.dumps([*self.requirements, INCLUDED, _INIT, _GUEST])
        stamp = self.folder / "built"
        if stamp.is_file() and stamp.read_text() == wanted:
            return
        stamp.unlink(missing_ok=True)
        with tempfile.TemporaryDirectory(dir=self.folder) as scratch:
            self._kernel(Path(scratch))
            self._disk(Path(scratch))
        stamp.write_text(wanted)

    def _kernel(self, scratch: Path) -> None:
        shown = _run(["apt-cache", "depends", KERNEL_PACKAGE])
        package = next(line.split()[-1] for line in shown.splitlines() if "Depends: linux-image" in line)
        _run(["apt-get", "download", "-q", package], cwd=scratch)
        unpacked = scratch / "kernel"
        _run(["dpkg", "-x", str(next(scratch.glob("linux-image*.deb"))), str(unpacked)])
        shutil.copy(next((unpacked / "boot").glob("vmlinuz-*")), self.kernel)
        release = next((unpacked / "boot").glob("vmlinuz-*")).name.removeprefix("vmlinuz-")
        tree = next(folder for folder in (unpacked / "lib/modules", unpacked / "usr/lib/modules") if folder.is_dir())
        self._initramfs(scratch / "initramfs", tree / release)

    def _initramfs(self, root: Path, modules: Path) -> None:
        (root / "bin").mkdir(parents=True)
        shutil.copy(str(shutil.which("busybox")), root / "bin" / "busybox")
        target = root / "lib" / "modules" / modules.name
        wanted = ("virtio", "ext4", "jbd2", "mbcache", "crc16", "crc32c", "libcrc32c")
        for file in modules.rglob("*.ko*"):
            if file.name.startswith(wanted):
                to = target / file.relative_to(modules)
                to.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(file, to)
        for listing in modules.glob("modules.*"):
            shutil.copy(listing, target)
        _run(["depmod", "-b", str(root), modules.name])
        (root / "init").write_text(_INIT.format(modules=" ".join(MODULES)))
        (root / "init").chmod(0o755)
        names = "\n".join(str(path.relative_to(root)) for path in sorted(root.rglob("*")))
        packed = subprocess.run(
            ["cpio", "--quiet", "-o", "-H", "newc"], input=names.encode(), cwd=root, capture_output=True, check=True
        )
        self.initramfs.write_bytes(gzip.compress(packed.stdout))

    def _disk(self, scratch: Path) -> None:
        root = scratch / "root"
        _run(["debootstrap", "--variant=minbase", f"--include={INCLUDED}", _suite(), str(root), _mirror()])
        version = _run(["chroot", str(root), "python3", "-c", "import sys; print('%d.%d' % sys.version_info[:2])"])
        platforms = [f"manylinux_2_{minor}_x86_64" for minor in range(17, 37)] + ["manylinux2014_x86_64"]
        _run(
            [sys.executable, "-m", "pip", "install", "-q", "--no-input", "--target", str(root) + PACKAGES_DIR,
             "--python-version", version.strip(), "--only-binary=:all:",
             *(part for name in platforms for part in ("--platform", name)), *self.requirements]
        )  # fmt: skip
        (root / "guest").write_text(_GUEST)
        for folder in ("var/cache/apt", "var/lib/apt/lists", "usr/share/doc", "usr/share/locale"):
            shutil.rmtree(root / folder, ignore_errors=True)
        made = self.disk.with_suffix(".new")
        made.unlink(missing_ok=True)
        _run(["mke2fs", "-q", "-F", "-t", "ext4", "-d", str(root), str(made), ROOT_DISK])
        made.rename(self.disk)

    def run(self, script: str, folders: Mapping[str, Path], shape: Shape, limit_s: float, hurry: bool = True) -> Result:
        """Boot, run ``script`` (sh) beside ``folders`` (name in the guest -> folder here), power off.

        The script finds the folders in its working directory; what it puts into /tmp/results comes back. ``hurry``: it
        goes before other work here, which would look like a slow CPU in the guest.
        """
        with tempfile.TemporaryDirectory(prefix="guest-") as scratch:
            exchange, qmp = Path(scratch, "exchange"), Path(scratch, "qmp")
            _pack(exchange, script, folders)
            console = Path(scratch, "console")
            command = [
                "qemu-system-x86_64", "-M", "q35", "-accel", "tcg,thread=multi", "-cpu", "Cascadelake-Server",
                "-smp", shape.smp, "-m", f"{MEMORY_MB}M", *shape.numa(MEMORY_MB),
                "-display", "none", "-no-reboot", "-nodefaults",
                "-serial", f"file:{console}", "-qmp", f"unix:{qmp},server=on,wait=off",
                "-kernel", str(self.kernel), "-initrd", str(self.initramfs),
                "-drive", f"file={self.disk},if=virtio,format=raw,snapshot=on",
                "-drive", f"file={exchange},if=virtio,format=raw",
                "-append", "console=ttyS0 quiet panic=1",
            ]  # fmt: skip
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                       stderr=subprocess.DEVNULL, start_new_session=True)  # fmt: skip
            try:
                if hurry:
                    prefer(process.pid, NICE)
                pin(qmp, shape)
                process.wait(limit_s)
            except subprocess.TimeoutExpired:
                return Result(None, "", {}, console.read_text(errors="replace"))
            finally:
                process.kill()
                process.wait()
            return _unpack(exchange, console.read_text(errors="replace"))


def pin(path: Path, shape: Shape) -> None:
    """Bind the threads of the virtual CPUs, siblings to the same CPU. Source: QEMU QMP reference, query-cpus-fast"""
    usable = sorted(os.sched_getaffinity(0))
    deadline_s = time.monotonic() + QMP_LIMIT_S
    with socket.socket(socket.AF_UNIX) as channel:
        while True:
            try:
                channel.connect(str(path))
                break
            except OSError:
                if time.monotonic() > deadline_s:
                    raise
                time.sleep(0.05)
        channel.settimeout(QMP_LIMIT_S)
        with channel.makefile("rw", encoding="utf-8") as lines:
            lines.readline()
            _ask(lines, "qmp_capabilities")
            for cpu in _ask(lines, "query-cpus-fast"):
                os.sched_setaffinity(cpu["thread-id"], {shape.host_cpu(cpu["cpu-index"], usable)})


def _ask(lines: io.TextIOWrapper, command: str) -> list[dict[str, int]]:
    lines.write(json.dumps({"execute": command}) + "\n")
    lines.flush()
    while True:
        answer = json.loads(lines.readline())
        if "return" in answer:
            found: list[dict[str, int]] = answer["return"]
            return found


def _pack(exchange: Path, script: str, folders: Mapping[str, Path]) -> None:
    with tarfile.open(exchange, "w", dereference=True) as archive:
        entry = tarfile.TarInfo("run")
        entry.size = len(script.encode())
        archive.addfile(entry, io.BytesIO(script.encode()))
        for name, folder in folders.items():
            archive.add(folder, name, filter=lambda each: None if "__pycache__" in each.name else each)
    with exchange.open("ab") as file:
        file.truncate(EXCHANGE_BYTES)


def _unpack(exchange: Path, console: str) -> Result:
    files: dict[str, bytes] = {}
    with tarfile.open(exchange, "r:") as archive:
        for entry in archive:
            if entry.isfile():
                content = archive.extractfile(entry)
                files[entry.name.removeprefix("./")] = content.read() if content else b""
    output, status = files.pop("output", b"").decode(errors="replace"), files.pop("status", b"").decode().strip()
    return Result(int(status) if status.isdecimal() else None, output, files, console)


def _run(command: Sequence[str], cwd: Path | None = None) -> str:
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False, timeout=BUILD_LIMIT_S)
    if done.returncode:
        raise OSError(f"{command[0]} failed: {(done.stderr or done.stdout).strip()[-400:]}")
    return done.stdout


def _suite() -> str:
    release = dict(line.split("=", 1) for line in Path("/etc/os-release").read_text().splitlines() if "=" in line)
    return release.get("VERSION_CODENAME", "stable").strip('"')


def _mirror() -> str:
    """The mirror this machine gets its own packages from."""
    shown = _run(["apt-get", "indextargets", "--format", "$(REPO_URI) $(RELEASE)", "Created-By: Packages"])
    rows = [line.split() for line in shown.splitlines()]
    return next((row[0] for row in rows if len(row) == 2 and row[1] == _suite()), rows[0][0])
