-- what: what run.sql had executed in this session when its call was cancelled
-- binds: ran out (as run.sql gives it; null if there is nothing)
-- needs: nothing (DBMS_OUTPUT is granted to PUBLIC)
-- source: Oracle Database PL/SQL Packages and Types Reference, DBMS_OUTPUT, GET_LINE
declare
  line varchar2(32767);
  status integer;
  ran varchar2(32767);
begin
  loop
    sys.dbms_output.get_line(line, status);
    exit when status <> 0 or length(ran) + length(line) >= 32767;
    ran := ran || line || chr(10);
  end loop;
  :ran := ran;
end;
/
