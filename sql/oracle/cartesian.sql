-- what: counts the rows of a four-way cartesian product of n generated rows: CPU only, flat memory, no temporary table
-- answer: n^4
-- rows: n^4
-- sizes: tiny=20, short=50, medium=80, long=120, seed=200
-- memory: 6000000
-- needs: CREATE SESSION
-- try: in sqlplus: variable n number; exec :n := 50; then @sql/oracle/cartesian.sql
--
-- Four inline views, not a common table expression: the optimizer turns one that is referenced four times
-- into a temporary table, with another plan and a little I/O in each version (see cartesian_cte).
select /*+ no_parallel no_result_cache */ count(*) as cnt
  from (select rownum as x from sys.dual connect by level <= :n) a,
       (select rownum as x from sys.dual connect by level <= :n) b,
       (select rownum as x from sys.dual connect by level <= :n) c,
       (select rownum as x from sys.dual connect by level <= :n) d;
