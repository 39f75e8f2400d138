"""A cluster that initdb made once, for all servers of the embedded target: a copy costs a tenth of the CPU.

PostgreSQL's own tests do the same. Source: PostgreSQL source, src/test/perl/PostgreSQL/Test/Cluster.pm, initdb_template
"""

import os
import zlib
from pathlib import Path

from dbcpu.targets.postgresql import embedded_server
from dbcpu.targets.postgresql.binaries import Account, binaries_for

VARIABLE = "DBCPU_TEST_CLUSTERS"
"""The folder of what is kept; without it every cluster is made anew."""

# The driver starts it as it starts initdb: as the same account, watched by the same guard.
_INITDB = """\
#!/bin/sh
# usage: initdb -D FOLDER OPTION...
folder=$2
# Nobody connects to template1 and template0, two thirds of the files: the copy has links to these.
copy() {{
    umask 077
    mkdir -p "$folder/base" && cd "$kept" && cp -Rpl base/1 base/4 "$folder/base" && cp -Rp base/5 "$folder/base" ||
        return
    for each in *; do [ "$each" = base ] || set -- "$@" "$each"; done
    cp -Rp "$@" "$folder"
}}
kept='{kept}'/$(shift 2; printf '%s\\n' "$@" | cksum | tr ' ' -)
[ ! -d "$kept" ] || {{ copy; exit; }}
'{initdb}' "$@" && mkdir "$kept.$$" && cp -Rp "$folder/." "$kept.$$" || exit
mv -T "$kept.$$" "$kept" 2>/dev/null || rm -rf "$kept.$$" # another was first
"""


def use() -> None:
    """From now on the servers that this process starts have copies."""
    if folder := os.environ.get(VARIABLE):
        kept = Path(folder)
        setattr(embedded_server, "binaries_for", lambda account: _copying(kept, binaries_for(account), account))  # noqa: B010


def _copying(folder: Path, binaries: Path, account: Account | None) -> Path:
    """A folder with the server of ``binaries``, and an initdb that copies."""
    made = folder / f"{zlib.crc32(os.fsencode(binaries)):08x}-{os.geteuid()}"
    if not (made / "postgres").is_symlink():
        kept = made / "kept"
        kept.mkdir(parents=True, exist_ok=True)
        if account is not None:
            os.chown(kept, account.uid, account.gid)
        new = made / f"initdb.{os.getpid()}"
        new.write_text(_INITDB.format(kept=kept, initdb=binaries / "initdb"))
        new.chmod(0o755)
        new.replace(made / "initdb")
        link = made / f"postgres.{os.getpid()}"
        link.symlink_to(binaries / "postgres")
        link.replace(made / "postgres")
    return made
