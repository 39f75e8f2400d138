-- what: reads each block of a small table of the session's own again and again: buffer gets, no disk
-- answer: tiny=20000, short=3000000, medium=10000000, long=30000000
-- rows: tiny=20000, short=3000000, medium=10000000, long=30000000
-- sizes: tiny=2, short=300, medium=1000, long=3000
-- memory: 6000000
-- needs: CREATE TABLE, and about 1 MB per session in the temporary tablespace
-- try: in sqlplus, each line by itself; try.sql is sql/oracle/logical_io.sql with its size as a number, as dbcpu sends it:
--        host sed 's/:n/2/g' sql/oracle/logical_io.sql > try.sql
--        @try.sql
--        truncate table dbcpu_logical_io;
--        drop table dbcpu_logical_io;
--
-- The table is created for the run and dropped after it. Its definition is shared, its rows and blocks are
-- each session's own: one table for all would measure latch contention, which looks like a shared core.
-- 100 rows of 4 kB are 100 blocks of 8 kB; 100 n scans of it are about 10,000 n buffer gets. The scans are counted by
-- two generators, since CONNECT BY keeps each level in the PGA: one of 300,000 levels took some 15 to 30 MB.
create global temporary table dbcpu_logical_io (id number, pad1 char(2000), pad2 char(2000)) on commit preserve rows;
insert into dbcpu_logical_io (id, pad1, pad2) select rownum, 'x', 'x' from sys.dual connect by level <= 100;
select /*+ leading(a c b) no_use_nl(c) use_nl(b) full(b) no_parallel no_result_cache no_monitor no_place_group_by
           cardinality(a :n) cardinality(c 100) */ count(*) as cnt
  from (select rownum as x from sys.dual connect by level <= :n) a,
       (select rownum as x from sys.dual connect by level <= 100) c,
       dbcpu_logical_io b
 where b.id > -a.x - c.x;
