-- what: CPU and DB time of this session so far, for shell/sqlplus-fanout; any version from 10g on
-- gives: name, microseconds
-- needs: SELECT on SYS.V_$SESS_TIME_MODEL
-- source: Oracle Database Reference, V$SESS_TIME_MODEL
select stat_name, value from sys.v_$sess_time_model
 where sid = to_number(sys_context('userenv', 'sid')) and stat_name in ('DB time', 'DB CPU');
