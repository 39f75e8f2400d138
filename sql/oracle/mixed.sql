-- what: bursts of CPU work with a short sleep after each: each wait is a chance for the scheduler to move the session
-- answer: tiny=1620000, short=6480000, medium=40500000, long=207360000
-- rows: tiny=1620000, short=6480000, medium=40500000, long=207360000
-- sizes: tiny=2, short=8, medium=50, long=256
-- memory: 6000000
-- needs: CREATE SESSION; Oracle Database 18c or newer (DBMS_SESSION.SLEEP, granted to PUBLIC)
-- try: in sqlplus, each line by itself, of which @sql/oracle/mixed.sql runs it:
--        variable n number
--        variable answer varchar2(40)
--        exec :n := 8
--        @sql/oracle/mixed.sql
--        print answer
--
-- Each of n bursts counts 30^4 = 810,000 rows as cartesian does, then sleeps 10 ms, the least that Oracle takes.
-- The sleep is "PL/SQL lock timer", an idle wait: neither DB time nor DB CPU. A loop in PL/SQL, since
-- a function called from SQL might be computed once for all rows.
declare
  counted number := 0;
  burst number;
begin
  for i in 1 .. :n loop
    select /*+ leading(a b c d) no_use_nl(b c d) no_parallel no_result_cache no_monitor no_place_group_by
               cardinality(a 30) cardinality(b 30) cardinality(c 30) cardinality(d 30) */ count(*) into burst
      from (select rownum as x from sys.dual connect by level <= 30) a,
           (select rownum as x from sys.dual connect by level <= 30) b,
           (select rownum as x from sys.dual connect by level <= 30) c,
           (select rownum as x from sys.dual connect by level <= 30) d;
    counted := counted + burst;
    sys.dbms_session.sleep(0.01);
  end loop;
  :answer := to_char(counted);
end;
/
