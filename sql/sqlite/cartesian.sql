-- what: counts the rows of a four-way cartesian product of n generated rows: CPU only, flat memory
-- answer: n^4
-- rows: n^4
-- sizes: tiny=20, short=50, medium=80, long=120, seed=200
-- memory: 12000000
-- needs: nothing
-- try: sed 's/:n/50/g' sql/sqlite/cartesian.sql | sqlite3
--
-- 'cross join' keeps SQLite from reordering; t is materialised once, with n rows.
with recursive t(x) as (select 1 union all select x + 1 from t where x < :n)
select count(*) from t a cross join t b cross join t c cross join t d;
