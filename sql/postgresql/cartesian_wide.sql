-- what: the plain four-way cartesian join, whose inner side PostgreSQL materialises: memory-heavy on purpose
-- answer: n^4
-- rows: n^4
-- sizes: tiny=20, short=50, medium=80, long=120, seed=200
-- memory: tiny=6000000, short=10000000, medium=40000000, long=120000000, seed=400000000
-- needs: nothing beyond CONNECT
-- try: psql -v n=50 -c "set work_mem='1GB'" -f sql/postgresql/cartesian_wide.sql
--
-- Needs work_mem above the materialised n^3 rows, or it spills to a temporary file: the session sets it.
-- Compared with cartesian it shows what caches and memory add.
with t as (select generate_series(1, :n) as x)
select count(*) from t a, t b, t c, t d;
