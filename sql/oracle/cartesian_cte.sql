-- what: the published text of the articles this kit began with, word for word, to compare with their numbers (n = 100 and 200)
-- answer: n^4
-- rows: n^4
-- sizes: tiny=20, short=50, medium=80, long=100, seed=200
-- memory: 8000000
-- needs: CREATE SESSION, and room in the temporary tablespace for n rows
-- try: in sqlplus, each line by itself; try.sql is sql/oracle/cartesian_cte.sql with its size as a number, as dbcpu sends it:
--        host sed 's/:n/100/g' sql/oracle/cartesian_cte.sql > try.sql
--        @try.sql
--
-- The common table expression becomes a temporary table (TEMP TABLE TRANSFORMATION): a few blocks of I/O
-- up to 12.1, in memory from 12.2. Compare with cartesian to see what that costs.
with t as ( SELECT rownum FROM dual CONNECT BY LEVEL <= :n )
select /*+ ALL_ROWS */ count(*) as cnt from t,t,t,t;
