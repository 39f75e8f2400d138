-- what: the container (pluggable database) of this session, and the container database that it is in
-- gives: name of the container (that of the database where it is no container database), CDB_NAME (null there)
-- needs: nothing; 12.1 or newer (before: ORA-02003)
-- source: Oracle Database SQL Language Reference, SYS_CONTEXT
select sys_context('userenv', 'con_name') as con_name, sys_context('userenv', 'cdb_name') as in_container from sys.dual;
