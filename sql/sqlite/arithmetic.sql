-- what: n steps of an integer recurrence (a linear congruential generator modulo 2^31), summed to a known checksum
-- answer: tiny=10791437675352, short=5367088216524256, medium=10735449289890752, long=53683784542227136
-- rows: n
-- sizes: tiny=10000, short=5000000, medium=10000000, long=50000000
-- memory: 12000000
-- needs: nothing
-- try: sed 's/:n/10000/g' sql/sqlite/arithmetic.sql | sqlite3
--
-- x[0] = 1, x[i+1] = (1103515245 x[i] + 12345) mod 2^31; the answer is x[1] + ... + x[n].
-- Integers only, so that every processor and every version gives the same sum.
with recursive r(i, x) as (
  select 1, (1103515245 + 12345) % 2147483648
  union all
  select i + 1, (1103515245 * x + 12345) % 2147483648 from r where i < :n
)
select sum(x) from r;
