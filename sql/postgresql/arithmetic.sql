-- what: a procedural loop of floating-point arithmetic with a known checksum: n := mod(n, 999999) + sqrt(f)
-- answer: tiny=666716.46, short=568495.83, medium=873729.72, long=499632.84
-- rows: n
-- sizes: tiny=10000, short=5000000, medium=10000000, long=50000000
-- memory: 7000000
-- needs: TEMPORARY on the database (a function in the session's own temporary schema)
-- try: psql -v n=5000000 -f sql/postgresql/arithmetic.sql
--
-- The same loop as sql/oracle/arithmetic.sql: 10,000,000 iterations give 873729.72 on both.
create or replace function pg_temp.dbcpu_arithmetic(iterations integer) returns numeric
language plpgsql as $body$
declare
  n double precision := 0;
begin
  for f in 1 .. iterations loop
    n := n - 999999 * floor(n / 999999) + sqrt(f);
  end loop;
  return round(n::numeric, 2);
end
$body$;
select pg_temp.dbcpu_arithmetic(:n);
