-- what: reads each page of a small temporary table of the session's own again and again: buffer hits, no disk
-- answer: tiny=20000, short=3000000, medium=10000000, long=30000000
-- rows: tiny=20000, short=3000000, medium=10000000, long=30000000
-- sizes: tiny=200, short=30000, medium=100000, long=300000
-- memory: 3000000
-- needs: TEMPORARY on the database (a table of 1 MB in the session's own temporary schema)
-- try: psql -v n=30000 -c 'set enable_memoize=off' -f sql/postgresql/logical_io.sql
--
-- The same rows as sql/oracle/logical_io.sql. By the fillfactor each of 100 rows has a page to itself; n scans are
-- 100 n hits. The pages are in local buffers: a table for all would measure their locks, which look like a shared core.
-- Correlated and fenced (offset 0), so that the planner cannot materialise the table instead of reading its pages.
create temporary table if not exists dbcpu_logical_io (id integer, pad char(700)) with (fillfactor = 10);
truncate table dbcpu_logical_io;
insert into dbcpu_logical_io (id, pad) select generate_series(1, 100), 'x';
with a as (select generate_series(1, :n) as x)
select count(*)
  from a
 cross join lateral (select 1 from dbcpu_logical_io b where b.id > -a.x offset 0) b;
