-- what: the container (pluggable database) of this session
-- needs: nothing; 12.1 or newer (before: ORA-02003)
-- source: Oracle Database SQL Language Reference, SYS_CONTEXT
select sys_context('userenv', 'con_name') as con_name from sys.dual;
