-- what: counts the rows of a four-way cartesian product of n generated rows: CPU only, flat memory, no temporary file
-- answer: n^4
-- rows: n^4
-- sizes: tiny=20, short=50, medium=80, long=120, seed=200
-- memory: 4200000
-- needs: nothing beyond CONNECT
-- try: psql -v n=50 -c 'set enable_memoize=off' -f sql/postgresql/cartesian.sql
--
-- The inner sides are correlated (a.x > 0) and fenced (offset 0), so that the planner can neither
-- materialise n^3 rows nor reorder; the plain join, which does, is cartesian_wide. A CTE that is
-- referenced more than once is materialised by every version: the text runs on PostgreSQL >= 9.3.
with t as (select generate_series(1, :n) as x)
select count(*)
  from t a
 cross join lateral (select 1 from t b where a.x > 0 offset 0) b
 cross join lateral (select 1 from t c where a.x > 0 offset 0) c
 cross join lateral (select 1 from t d where a.x > 0 offset 0) d;
