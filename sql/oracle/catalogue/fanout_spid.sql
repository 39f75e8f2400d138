-- what: the server process of this session, for shell/sqlplus-fanout; any version
-- needs: SELECT on SYS.V_$SESSION and SYS.V_$PROCESS
-- source: Oracle Database Reference, V$SESSION, V$PROCESS
select p.spid from sys.v_$session s, sys.v_$process p where p.addr = s.paddr and s.sid = to_number(sys_context('userenv', 'sid'));
