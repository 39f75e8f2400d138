-- what: how many instances of the cluster are open
-- needs: SELECT on SYS.GV_$INSTANCE
-- source: Oracle Database Reference, GV$ views, V$INSTANCE
select count(*) as instances from sys.gv_$instance where status = 'OPEN';
