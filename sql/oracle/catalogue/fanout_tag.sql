-- what: marks a session of shell/sqlplus-fanout as dbcpu's, so that one whose fanout was killed is found and ended
-- template: :pid, :start and :where stand for numbers: the script's process, its start time in clock ticks, and boot and
--           pid namespace of its host as one number (0: not known)
-- needs: EXECUTE on SYS.DBMS_APPLICATION_INFO and SYS.DBMS_SESSION (granted to PUBLIC)
-- source: Oracle Database PL/SQL Packages and Types Reference, DBMS_APPLICATION_INFO, DBMS_SESSION
begin
  sys.dbms_application_info.set_module('dbcpu', 'sqlplus-fanout');
  sys.dbms_session.set_identifier(substr(sys_context('userenv', 'host'), 1, 64 - length('/:pid/:start/:where')) || '/:pid/:start/:where');
end;
/
