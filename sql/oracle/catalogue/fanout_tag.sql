-- what: marks a session of shell/sqlplus-fanout as dbcpu's, so that one whose fanout was killed is found and ended
-- template: :pid and :start stand for numbers: the script's process and its start time in clock ticks (0: not known)
-- needs: EXECUTE on SYS.DBMS_APPLICATION_INFO and SYS.DBMS_SESSION (granted to PUBLIC)
-- source: Oracle Database PL/SQL Packages and Types Reference, DBMS_APPLICATION_INFO, DBMS_SESSION
begin
  dbms_application_info.set_module('dbcpu', 'sqlplus-fanout');
  dbms_session.set_identifier(substr(sys_context('userenv', 'host'), 1, 40) || '/:pid/:start');
end;
/
