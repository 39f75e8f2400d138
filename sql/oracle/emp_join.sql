-- what: the classic five-way cartesian join of the 14-row EMP table, on generated rows so that no table is needed
-- answer: n^5
-- rows: n^5
-- sizes: tiny=14, short=23, medium=33, long=46
-- memory: 6000000
-- needs: CREATE SESSION
-- try: in sqlplus, each line by itself; try.sql is sql/oracle/emp_join.sql with its size as a number, as dbcpu sends it:
--        host sed 's/:n/14/g' sql/oracle/emp_join.sql > try.sql
--        @try.sql
--
-- tiny is the classic itself: select count(*) from emp,emp,emp,emp,emp gives 537824.
select /*+ leading(e1 e2 e3 e4 e5) no_use_nl(e2 e3 e4 e5) no_parallel no_result_cache no_monitor no_place_group_by
           cardinality(e1 :n) cardinality(e2 :n) cardinality(e3 :n) cardinality(e4 :n) cardinality(e5 :n) */ count(*) as cnt
  from (select rownum as empno from sys.dual connect by level <= :n) e1,
       (select rownum as empno from sys.dual connect by level <= :n) e2,
       (select rownum as empno from sys.dual connect by level <= :n) e3,
       (select rownum as empno from sys.dual connect by level <= :n) e4,
       (select rownum as empno from sys.dual connect by level <= :n) e5;
