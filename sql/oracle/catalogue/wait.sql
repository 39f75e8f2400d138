-- what: a job of a pool that only waits: so many seconds, to the hundredth, without CPU
-- binds: for_s
-- needs: Oracle 18c or newer; nothing else (DBMS_SESSION is granted to PUBLIC)
-- source: Oracle Database PL/SQL Packages and Types Reference, DBMS_SESSION, SLEEP
begin
  sys.dbms_session.sleep(:for_s);
end;
/
