-- what: whether Resource Manager manages this session (RUNNING), whichever plan does it, or not (NOT MANAGED)
-- needs: SELECT on SYS.V_$RSRC_SESSION_INFO (Oracle's own scripts grant it to PUBLIC)
-- source: Oracle Database Reference, V$RSRC_SESSION_INFO
select state from sys.v_$rsrc_session_info where sid = to_number(sys_context('userenv', 'sid'));
