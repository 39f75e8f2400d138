-- what: bursts of CPU work with a short sleep after each: each wait is a chance for the scheduler to move the session
-- answer: tiny=480000, short=5600000, medium=56000000, long=280000000
-- rows: tiny=480000, short=5600000, medium=56000000, long=280000000
-- sizes: tiny=3, short=35, medium=350, long=1750
-- memory: 6000000
-- needs: nothing beyond CONNECT
-- try: psql -v n=35 -f sql/postgresql/mixed.sql
--
-- Each of n bursts counts 20^4 = 160,000 rows (some 9 ms) as cartesian does, then sleeps 1 ms, as gzip does behind
-- dd in a pipe. Beside cartesian under the same number of sessions it shows what waits are worth: a session that
-- sleeps is placed anew when it wakes. Fenced (offset 0) and correlated, so that no burst is computed only once.
with t as (select generate_series(1, 20) as x)
select sum(burst.counted)::bigint
  from generate_series(1, :n) i
 cross join lateral (
   select count(*) as counted
     from t a
    cross join lateral (select 1 from t b where a.x > 0 and i > 0 offset 0) b
    cross join lateral (select 1 from t c where a.x > 0 and i > 0 offset 0) c
    cross join lateral (select 1 from t d where a.x > 0 and i > 0 offset 0) d
   offset 0) burst
 cross join lateral (select pg_sleep(0.001) where burst.counted > 0 offset 0) pause;
