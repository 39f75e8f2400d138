-- what: the same as run.sql by native dynamic SQL, where DBMS_SQL or DBMS_OUTPUT may not be executed
-- binds: text in; is_query in; most in; until_s in; batch_s in; ran out; failure out (each as in run.sql)
-- needs: nothing
-- source: Oracle Database PL/SQL Language Reference, EXECUTE IMMEDIATE statement, exception handling
--
-- The text is parsed at each execution; its cursor is kept by the session, so this is no hard parse. Nothing is kept of
-- what ran before a cancel (ORA-01013).
declare
  text varchar2(32767) := :text;
  is_query integer := :is_query;
  most integer := :most;
  until_s number := :until_s;
  batch_s number := :batch_s;
  began_s number;
  ended_s number;
  first_s number;
  answer varchar2(4000);
  ran varchar2(32767);
  function now_s return number is
    d interval day(9) to second(6) := sys_extract_utc(systimestamp) - timestamp '1970-01-01 00:00:00';
  begin
    return extract(day from d) * 86400 + extract(hour from d) * 3600 + extract(minute from d) * 60
      + extract(second from d);
  end;
begin
  first_s := now_s;
  for i in 1 .. most loop
    answer := null;
    began_s := now_s;
    if is_query = 1 then
      execute immediate text into answer;
    else
      execute immediate text using out answer;
    end if;
    ended_s := now_s;
    ran := ran || to_char(began_s) || ' ' || to_char(ended_s - began_s) || ' ' || substr(answer, 1, 40) || chr(10);
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
