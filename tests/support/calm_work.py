"""The workload ``calm`` of PostgreSQL and Oracle: sessions are at work for a while, and take little CPU.

Tests that look at what a driver does around its rounds, and not at how fast these are, say ``--workload calm``.
"""

from dbcpu.measure import workloads
from dbcpu.measure.workloads import Workload, parse

NAME = "calm"
_POSTGRESQL = """\
-- what: one burst of CPU work, then sleep: sessions are at work for long and take little CPU
-- answer: 20736
-- rows: 20736
-- sizes: tiny=90, short=300, medium=600
-- memory: 6000000
--
-- After a burst as in mixed.sql it sleeps for n ms.
with t as (select generate_series(1, 12) as x)
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
_ORACLE = """\
-- what: one burst of CPU work, then sleep: sessions are at work for long and take little CPU
-- answer: 20736
-- rows: 20736
-- sizes: tiny=10, short=30, medium=60
-- memory: 6000000
--
-- After a burst as in mixed.sql it sleeps for n hundredths of a second.
declare
  counted number := 0;
  burst number;
begin
  for i in 1 .. 1 loop
    select count(*) into burst
      from (select rownum as x from sys.dual connect by level <= 12) a,
           (select rownum as x from sys.dual connect by level <= 12) b,
           (select rownum as x from sys.dual connect by level <= 12) c,
           (select rownum as x from sys.dual connect by level <= 12) d;
    counted := counted + burst;
    sys.dbms_session.sleep(0.:n);
  end loop;
  :answer := to_char(counted);
end;
/
"""
TEXTS = {"postgresql": _POSTGRESQL, "oracle": _ORACLE}


def use() -> None:
    """From now on this process knows it, though no list shows it."""
    known = workloads.load

    def load(database: str, name: str) -> Workload:
        return parse(database, name, TEXTS[database]) if name == NAME and database in TEXTS else known(database, name)

    workloads.load = load
