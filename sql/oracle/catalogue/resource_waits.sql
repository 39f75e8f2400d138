-- what: how long this session waited for Resource Manager, where waits.sql may not be asked
-- gives: as waits.sql: event, number of waits, microseconds, if the view counts milliseconds: its page names no unit, that
--        of V$RSRC_CONS_GROUP_HISTORY does for the same column. What is longer than the session is not believed
-- needs: SELECT on SYS.V_$RSRC_SESSION_INFO (Oracle's own scripts grant it to PUBLIC)
-- source: Oracle Database Reference 19c, V$RSRC_SESSION_INFO, V$RSRC_CONS_GROUP_HISTORY (CPU_WAIT_TIME)
select 'resmgr:cpu quantum' as event, cpu_waits, cpu_wait_time * 1000 as waited_micro
  from sys.v_$rsrc_session_info
 where sid = to_number(sys_context('userenv', 'sid'));
