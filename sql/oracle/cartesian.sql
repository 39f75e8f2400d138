-- what: counts the rows of a four-way cartesian product of n generated rows: CPU only, flat memory, no temporary table
-- answer: n^4
-- rows: n^4
-- sizes: tiny=20, short=50, medium=80, long=120, seed=200
-- memory: 6000000
-- needs: CREATE SESSION
-- try: in sqlplus, each line by itself; try.sql is sql/oracle/cartesian.sql with its size as a number, as dbcpu sends it:
--        host sed 's/:n/50/g' sql/oracle/cartesian.sql > try.sql
--        @try.sql
--
-- Four inline views, not a common table expression: the optimizer turns one that is referenced four times
-- into a temporary table, with another plan and a little I/O in each version (see cartesian_cte). The hints ask for
-- three cartesian merge joins, which read each view once: at an estimate of one row nested loops would cost the same
-- and generate rows again and again. CARDINALITY and NO_PLACE_GROUP_BY are not in the SQL Language Reference.
select /*+ leading(a b c d) no_use_nl(b c d) no_parallel no_result_cache no_monitor no_place_group_by
           cardinality(a :n) cardinality(b :n) cardinality(c :n) cardinality(d :n) */ count(*) as cnt
  from (select rownum as x from sys.dual connect by level <= :n) a,
       (select rownum as x from sys.dual connect by level <= :n) b,
       (select rownum as x from sys.dual connect by level <= :n) c,
       (select rownum as x from sys.dual connect by level <= :n) d;
