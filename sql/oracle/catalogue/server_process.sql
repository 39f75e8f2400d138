-- what: the server process behind this session, and how it is served
-- gives: SERVER (DEDICATED, SHARED, POOLED, NONE), spid, stid, execution type (PROCESS or THREAD), age of the session in seconds (off by quarter hours where LOGON_TIME, a DATE, is of another time zone), consumer group, serial#
-- needs: SELECT on SYS.V_$SESSION and SYS.V_$PROCESS
-- source: Oracle Database Reference, V$SESSION, V$PROCESS, FIXED_DATE (by which SYSDATE stands still)
select s.server, p.spid, p.stid, p.execution_type, (cast(systimestamp as date) - s.logon_time) * 86400 as age_s,
       s.resource_consumer_group, s.serial# as serial_num
  from sys.v_$session s, sys.v_$process p
 where p.addr = s.paddr
   and s.sid = to_number(sys_context('userenv', 'sid'));
