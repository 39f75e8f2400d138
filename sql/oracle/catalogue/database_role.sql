-- what: PRIMARY, or the kind of standby of Data Guard (PHYSICAL STANDBY, LOGICAL STANDBY, SNAPSHOT STANDBY)
-- needs: nothing
-- source: Oracle Database SQL Language Reference, SYS_CONTEXT
select sys_context('userenv', 'database_role') as database_role from sys.dual;
