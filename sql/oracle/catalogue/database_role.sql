-- what: PRIMARY, or the kind of standby of Data Guard (PHYSICAL STANDBY, LOGICAL STANDBY, SNAPSHOT STANDBY), or TRUE CACHE
-- needs: nothing
-- source: Oracle Database SQL Language Reference, SYS_CONTEXT; True Cache User's Guide, Verifying the True Cache
--         Configuration (which has the word in V$DATABASE)
select sys_context('userenv', 'database_role') as database_role from sys.dual;
