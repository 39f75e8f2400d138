-- what: what this session waited for, idle waits left out
-- gives: event, number of waits, microseconds
-- needs: SELECT on SYS.V_$SESSION_EVENT
-- source: Oracle Database Reference, V$SESSION_EVENT; wait classes: appendix Oracle Wait Events
select event, total_waits, time_waited_micro
  from sys.v_$session_event
 where sid = to_number(sys_context('userenv', 'sid'))
   and wait_class <> 'Idle';
