-- what: the server process of this session and how it is served, for shell/sqlplus-fanout; any version
-- gives: spid and SERVER (DEDICATED, SHARED, POOLED, NONE), separated by a blank
-- needs: SELECT on SYS.V_$SESSION and SYS.V_$PROCESS
-- source: Oracle Database Reference, V$SESSION, V$PROCESS
select p.spid || ' ' || s.server as process from sys.v_$session s, sys.v_$process p
 where p.addr = s.paddr and s.sid = to_number(sys_context('userenv', 'sid'));
