-- what: a line that only a session that is logged on can print, for shell/sqlplus-fanout
-- needs: nothing
-- source: Oracle Database SQL Language Reference, SELECT
select 'DBCPU READY' as ready from sys.dual;
