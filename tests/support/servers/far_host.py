"""A host behind sshd that has a dbcpu, a database's client and a secret, none of which is known here."""

import shlex
import shutil
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from support.servers.ssh import Sshd


class FarHost:
    """ssh knows it as ``name``; ``program`` is its dbcpu, ``folder`` its home, and ``secret`` what it alone knows."""

    def __init__(self, sshd: Sshd, name: str, folder: Path, secret: Mapping[str, str]) -> None:
        self.name, self.folder, self.program = name, folder, folder / "dbcpu"
        (folder / "tmp").mkdir(parents=True)
        self.has_program(f'exec {sys.executable} -P -m dbcpu "$@"')
        login = folder / "login"
        psql = Path(shutil.which("psql") or "/usr/bin/psql").parent
        given = {**secret, "TMPDIR": f"{folder}/tmp", "HOME": str(folder), "DBCPU_SETTLE_S": "0",
                 "PATH": f"{psql}:/usr/bin:/bin"}  # fmt: skip
        words = " ".join(f"{key}={shlex.quote(value)}" for key, value in given.items())
        login.write_text(f'#!/bin/sh\nexport {words}\nexec sh -c "$SSH_ORIGINAL_COMMAND"\n')
        login.chmod(0o755)
        sshd.forces(name, str(login))

    def has_program(self, text: str) -> None:
        """Its dbcpu is a script of this text."""
        self.program.write_text(f"#!/bin/sh\n{text}\n")
        self.program.chmod(0o755)

    def is_clean(self) -> bool:
        """Nothing of a run is left there: no folder, no process."""
        return not list(self.folder.glob("tmp/*")) and not self.processes()

    def processes(self) -> list[int]:
        """Those that were started there: by their environment."""
        mark = f"TMPDIR={self.folder}/tmp".encode()
        found = []
        for entry in Path("/proc").iterdir():
            with suppress(OSError):
                if entry.name.isdecimal() and mark in (entry / "environ").read_bytes():
                    found.append(int(entry.name))
        return found
