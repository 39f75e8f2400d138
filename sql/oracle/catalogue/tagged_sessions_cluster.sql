-- what: sessions of dbcpu on every instance of a cluster, of this run and of others
-- gives: sid, serial#, status, client identifier (host/pid/start/where of the driver), seconds since the last call began, user, instance
-- needs: SELECT on SYS.GV_$SESSION; asked in a cluster only
-- source: Oracle Database Reference, GV$ views, V$SESSION
select sid, serial# as serial_num, status, client_identifier, last_call_et, username, inst_id
  from sys.gv_$session
 where type = 'USER'
   and module = 'dbcpu';
