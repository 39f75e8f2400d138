-- what: who and where this session is, as anybody may ask
-- gives: sid, instance number, instance name, server host, service, database, user, session started as SYSDBA (TRUE or FALSE)
-- needs: nothing
-- source: Oracle Database SQL Language Reference, SYS_CONTEXT
select sys_context('userenv', 'sid') as sid,
       sys_context('userenv', 'instance') as instance_number,
       sys_context('userenv', 'instance_name') as instance_name,
       sys_context('userenv', 'server_host') as server_host,
       sys_context('userenv', 'service_name') as service_name,
       sys_context('userenv', 'db_name') as db_name,
       sys_context('userenv', 'session_user') as session_user,
       sys_context('userenv', 'isdba') as isdba
  from sys.dual;
