-- what: SHA-256 of the numbers from 1 to n x n, counted where the first byte is below 128: arithmetic within a core
-- answer: tiny=1864, short=179789, medium=719221, long=3124135
-- rows: n^2
-- sizes: tiny=60, short=600, medium=1200, long=2500
-- memory: 6000000
-- needs: CREATE SESSION; 12.1 or newer
-- try: in sqlplus, each line by itself; try.sql is sql/oracle/hashing.sql with its size as a number, as dbcpu sends it:
--        host sed 's/:n/60/g' sql/oracle/hashing.sql > try.sql
--        @try.sql
--
-- Each row costs a hash: how much two threads of a core take from each other differs with the kind of work. No product
-- gives the count. ROWNUM keeps the view whole, so that the join is a cartesian one without a filter.
select /*+ no_parallel no_result_cache no_monitor */ count(*) as cnt
  from (select /*+ leading(a b) no_use_nl(b) cardinality(a :n) cardinality(b :n) */ rownum as k
          from (select rownum as x from sys.dual connect by level <= :n) a,
               (select rownum as x from sys.dual connect by level <= :n) b)
 where standard_hash(to_char(k), 'SHA256') < hextoraw('80');
