-- what: nothing but to see whether the packages that run.sql needs may be executed (else ORA-06550 and PLS-00201)
-- needs: EXECUTE on SYS.DBMS_SQL and SYS.DBMS_OUTPUT (granted to PUBLIC, unless a hardening guide was followed)
-- source: Oracle Database PL/SQL Packages and Types Reference, DBMS_SQL, DBMS_OUTPUT
declare
  c integer;
begin
  sys.dbms_output.disable();
  c := sys.dbms_sql.open_cursor;
  sys.dbms_sql.close_cursor(c);
end;
/
