"""A thousand hosts ranked by ten million executions, in DuckDB over the tables that fleet report --parquet writes."""

import statistics
import time
from functools import partial
from pathlib import Path

import duckdb

from bench.pairs import Bar, Result, Setup, Table, interleaved, shown

TITLE = "1,000 hosts ranked by 10 million executions"
HOW = (
    "Tables `runs` and `executions` in the form of docs/data.md, made by DuckDB: 1,000 runs of 4 levels, 10,000 "
    "executions each, with times that are drawn. The query takes the median execution of a single session of "
    "every host and of the largest level, holds it to the median of the hosts of its CPU model, and ranks all "
    "hosts; by one thread and by two, reading the files each time."
)
HOSTS, EXECUTIONS = 1000, 10_000
QUERY = """
with speed as (
    select run_id, median(elapsed_s) filter (level = 1) as alone_s, median(elapsed_s) filter (level = 8) as loaded_s,
           quantile_cont(elapsed_s, 0.95) as slow_s, count(*) as executions
      from read_parquet('{folder}/executions.parquet') group by run_id
)
select r.target, r.cpu_model, rank() over (order by s.alone_s) as place,
       s.alone_s / median(s.alone_s) over (partition by r.cpu_model) as ratio, s.loaded_s / s.alone_s as slowdown,
       s.slow_s, s.executions
  from speed s join read_parquet('{folder}/runs.parquet') r using (run_id) order by place"""


def run(setup: Setup) -> Result:
    setup.say(f"making {HOSTS * EXECUTIONS:,} executions")
    _fill(setup.folder)
    mb = sum(file.stat().st_size for file in setup.folder.glob("*.parquet")) / 1e6
    contestants = {str(threads): partial(_rank, setup.folder, threads) for threads in (1, 2)}
    found = interleaved(contestants, setup.rounds, setup.say)
    table = Table(
        ("threads", "elapsed, s", "CPU, s"),
        tuple(
            (threads, shown([one[0] for one in ones]), shown([one[1] for one in ones]))
            for threads, ones in found.items()
        ),
    )
    bars = (Bar("one thread, CPU", statistics.median(one[1] for one in found["1"]), 5.0, "s"),)
    samples = {f"{threads} threads, s": [one[0] for one in ones] for threads, ones in found.items()}
    return Result(bars, (table,), samples, (f"The files have {mb:.0f} MB. DuckDB is {duckdb.__version__}.",))


def _fill(folder: Path) -> None:
    with duckdb.connect(config={"threads": 1, "memory_limit": "1GB"}) as connection:
        connection.execute("select setseed(0.5)")
        connection.execute(
            f"""copy (select 'run-' || h as run_id, 'db-' || h as target, 'CPU ' || h % 12 as cpu_model
                        from range({HOSTS}) hosts(h)) to '{folder}/runs.parquet' (format parquet)"""
        )
        connection.execute(
            f"""copy (select 'run-' || e // {EXECUTIONS} as run_id, 1 + 2 * (e % 4) + (e % 4 = 3)::int as level,
                             e % 16 as session, 0.5 + (e // {EXECUTIONS}) % 12 * 0.05 + 0.05 * random() as elapsed_s
                        from range({HOSTS * EXECUTIONS}) executions(e))
                to '{folder}/executions.parquet' (format parquet, compression zstd)"""
        )


def _rank(folder: Path, threads: int) -> tuple[float, float]:
    """Elapsed and CPU seconds."""
    with duckdb.connect(config={"threads": threads, "memory_limit": "1GB"}) as connection:
        began_s, used_s = time.monotonic(), time.process_time()
        rows = connection.execute(QUERY.format(folder=folder)).fetchall()
        taken = time.monotonic() - began_s, time.process_time() - used_s
    if len(rows) != HOSTS or sum(row[-1] for row in rows) != HOSTS * EXECUTIONS:
        raise SystemExit(f"{len(rows)} hosts were ranked, not {HOSTS}")
    return taken
