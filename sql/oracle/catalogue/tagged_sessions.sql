-- what: sessions of dbcpu, of this run and of others
-- gives: sid, serial#, status, client identifier (host/pid/start/where of the driver), seconds since the last call began, user
-- needs: SELECT on SYS.V_$SESSION
-- source: Oracle Database Reference, V$SESSION
select sid, serial# as serial_num, status, client_identifier, last_call_et, username
  from sys.v_$session
 where type = 'USER'
   and module = 'dbcpu';
