-- what: executes a cursor that parse.sql opened again and again, with the server's clock around each execution
-- binds: cursor_id in; is_query in; most in (executions at most); until_s in (no new execution at or after this
--        time of the server's clock, epoch seconds; null: no such limit); batch_s in (none after so many seconds
--        in this call); ran out ("start elapsed answer" and a line feed for each execution: epoch seconds, seconds,
--        text); failure out (error text if an execution failed, else null)
-- needs: nothing (DBMS_SQL and DBMS_OUTPUT are granted to PUBLIC)
-- source: Oracle Database PL/SQL Packages and Types Reference, DBMS_SQL, DBMS_OUTPUT; PL/SQL Language Reference,
--         exception handling
--
-- A cancel (ORA-01013) and the end of the session (ORA-00028) are passed on; any other error keeps what ran before it.
-- The same lines go to DBMS_OUTPUT, from where ran_before.sql takes them when the call was cancelled.
declare
  c integer := :cursor_id;
  is_query integer := :is_query;
  most integer := :most;
  until_s number := :until_s;
  batch_s number := :batch_s;
  began_s number;
  ended_s number;
  first_s number;
  answer varchar2(4000);
  line varchar2(200);
  ran varchar2(32767);
  ignored integer;
  function now_s return number is
    d interval day(9) to second(6) := sys_extract_utc(systimestamp) - timestamp '1970-01-01 00:00:00';
  begin
    return extract(day from d) * 86400 + extract(hour from d) * 3600 + extract(minute from d) * 60
      + extract(second from d);
  end;
begin
  sys.dbms_output.disable;
  sys.dbms_output.enable(null);
  first_s := now_s;
  for i in 1 .. most loop
    answer := null;
    began_s := now_s;
    if is_query = 1 then
      ignored := sys.dbms_sql.execute_and_fetch(c, true);
      sys.dbms_sql.column_value(c, 1, answer);
    else
      sys.dbms_sql.bind_variable(c, ':answer', answer, 4000);
      ignored := sys.dbms_sql.execute(c);
      sys.dbms_sql.variable_value(c, ':answer', answer);
    end if;
    ended_s := now_s;
    line := to_char(began_s) || ' ' || to_char(ended_s - began_s) || ' ' || substr(answer, 1, 40);
    ran := ran || line || chr(10);
    sys.dbms_output.put_line(line);
    exit when ended_s >= until_s or ended_s - first_s >= batch_s;
  end loop;
  :ran := ran;
  :failure := null;
exception
  when others then
    if sqlcode in (-1013, -28) then
      raise;
    end if;
    :ran := ran;
    :failure := sqlerrm;
end;
/
