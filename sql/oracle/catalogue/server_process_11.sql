-- what: the same for versions before 12.1, whose V$PROCESS has no STID and no EXECUTION_TYPE (ORA-00904)
-- gives: as server_process, its age too, with the spid twice
-- needs: SELECT on SYS.V_$SESSION and SYS.V_$PROCESS
-- source: Oracle Database Reference 11.2, V$SESSION, V$PROCESS
select s.server, p.spid, p.spid as stid, 'PROCESS' as execution_type, (cast(systimestamp as date) - s.logon_time) * 86400 as age_s,
       s.resource_consumer_group, s.serial# as serial_num
  from sys.v_$session s, sys.v_$process p
 where p.addr = s.paddr
   and s.sid = to_number(sys_context('userenv', 'sid'));
