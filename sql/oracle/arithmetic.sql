-- what: a PL/SQL loop of decimal arithmetic with a known checksum: n := mod(n, 999999) + sqrt(f)
-- answer: tiny=666716.46, short=568495.83, medium=873729.72, long=499632.84
-- rows: n
-- sizes: tiny=10000, short=5000000, medium=10000000, long=50000000
-- memory: 3000000
-- needs: CREATE SESSION
-- try: in sqlplus, each line by itself, of which @sql/oracle/arithmetic.sql runs it:
--        variable n number
--        variable answer varchar2(40)
--        exec :n := 10000
--        @sql/oracle/arithmetic.sql
--        print answer
--
-- No SQL engine and no optimizer: a second, independent kind of CPU work. 10,000,000 iterations give 873729.72.
declare
  n number := 0;
begin
  for f in 1 .. :n loop
    n := mod(n, 999999) + sqrt(f);
  end loop;
  :answer := to_char(round(n, 2));
end;
/
