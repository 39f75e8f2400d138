-- what: whether parallel query is on in this session, and whether the session is traced
-- gives: PQ_STATUS (ENABLED, DISABLED, FORCED), SQL_TRACE (ENABLED, DISABLED)
-- needs: SELECT on SYS.V_$SESSION
-- source: Oracle Database Reference, V$SESSION
select pq_status, sql_trace from sys.v_$session where sid = to_number(sys_context('userenv', 'sid'));
