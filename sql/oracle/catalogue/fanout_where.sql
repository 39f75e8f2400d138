-- what: the instance of this session and the host of its server, for shell/sqlplus-fanout
-- gives: instance number, instance name and server host, separated by blanks
-- needs: nothing
-- source: Oracle Database SQL Language Reference, SYS_CONTEXT
select sys_context('userenv', 'instance') || ' ' || sys_context('userenv', 'instance_name') || ' '
       || sys_context('userenv', 'server_host') as whereabouts
  from sys.dual;
