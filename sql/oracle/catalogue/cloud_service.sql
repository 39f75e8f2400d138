-- what: the kind of Autonomous Database (OLTP, DWCS, JDCS), something else on other services of Oracle's cloud, or nothing
-- needs: nothing; versions that know no such parameter say ORA-02003
-- source: Oracle Database SQL Language Reference, SYS_CONTEXT
select sys_context('userenv', 'cloud_service') as cloud_service from sys.dual;
