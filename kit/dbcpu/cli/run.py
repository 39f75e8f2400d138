"""``dbcpu run``: sweep levels on one target, show who got less CPU, keep the run, write a report."""

from typing import Any

import click

from dbcpu.cli.options import fail_on_option, measuring_options


@click.command()
@click.argument("target", default="embedded")
@measuring_options
@fail_on_option
def command(target: str, **given: Any) -> int:
    """Measure TARGET: N sessions are released together into a CPU-only SQL, for N from 1 to twice the vCPUs.

    TARGET is a name from dbcpu.toml, a SQLAlchemy URL, postgresql (libpq's environment, as psql), oracle (TWO_TASK),
    sqlite, shell (no database: increment, gzip_pipe), or embedded: a PostgreSQL of dbcpu's own, gone with the run.

    \b
    Examples: dbcpu run postgresql://dba@db1/postgres --sessions 1-32 --repeats 5
              dbcpu run 'oracle+oracledb://bench@db1/?service_name=orclpdb1' --size medium
    """
    from dbcpu.analysis.next_round import adaptive
    from dbcpu.cli.options import confirm
    from dbcpu.config import resolve
    from dbcpu.present import present
    from dbcpu.progress import ProgressWatcher
    from dbcpu.runner import Choices, run
    from dbcpu.store.database import open_store

    choices = Choices(**{name: given[name] for name in Choices.__dataclass_fields__ if name in given})
    watcher = ProgressWatcher(lambda question: confirm(question, given["yes"]), quiet=given["quiet"])
    with open_store(given["store"]) as store:
        try:
            run_id = run(resolve(target), choices, store, watcher, forced=given["yes"], planner=adaptive)
        finally:
            watcher.close()
        record = store.load(run_id)
    return present(record, given["out"], given["json_file"], given["fail_on"], quiet=given["quiet"])
