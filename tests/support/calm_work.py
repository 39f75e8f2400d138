"""The workload ``calm`` of PostgreSQL: for sessions that are to be at work for a while, and to take little CPU.

Tests that look at what a driver does around its rounds, and not at how fast these are, say ``--workload calm``.
"""

from dbcpu.measure import workloads
from dbcpu.measure.workloads import Workload, parse

NAME = "calm"
_TEXT = """\
-- what: one burst of CPU work, then sleep: sessions are at work for long and take little CPU
-- answer: 160000
-- rows: 160000
-- sizes: tiny=90, short=300, medium=600
-- memory: 6000000
--
-- After a burst as in mixed.sql it sleeps for n ms.
with t as (select generate_series(1, 20) as x)
select sum(burst.counted)::bigint
  from generate_series(1, 1) i
 cross join lateral (
   select count(*) as counted
     from t a
    cross join lateral (select 1 from t b where a.x > 0 and i > 0 offset 0) b
    cross join lateral (select 1 from t c where a.x > 0 and i > 0 offset 0) c
    cross join lateral (select 1 from t d where a.x > 0 and i > 0 offset 0) d
   offset 0) burst
 cross join lateral (select pg_sleep(0.001 * :n) where burst.counted > 0 offset 0) pause;
"""


def use() -> None:
    """From now on this process knows it, though no list shows it."""
    known = workloads.load

    def load(database: str, name: str) -> Workload:
        return parse(database, name, _TEXT) if (database, name) == ("postgresql", NAME) else known(database, name)

    workloads.load = load
