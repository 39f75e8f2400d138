-- what: this session's time model; exact after a call has returned, up to 5 s late while one runs
-- gives: name, value in microseconds
-- needs: SELECT on SYS.V_$SESS_TIME_MODEL
-- source: Oracle Database Reference, V$SESS_TIME_MODEL
select stat_name, value
  from sys.v_$sess_time_model
 where sid = to_number(sys_context('userenv', 'sid'))
   and stat_name in ('DB time', 'DB CPU', 'hard parse elapsed time', 'PL/SQL execution elapsed time');
