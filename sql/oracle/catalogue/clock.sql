-- what: the server's clock in seconds since 1970-01-01 00:00:00 UTC
-- needs: nothing
-- source: Oracle Database SQL Language Reference, SYSTIMESTAMP, SYS_EXTRACT_UTC, EXTRACT (datetime)
select extract(day from d) * 86400 + extract(hour from d) * 3600 + extract(minute from d) * 60 + extract(second from d)
       as epoch_s
  from (select sys_extract_utc(systimestamp) - timestamp '1970-01-01 00:00:00' as d from sys.dual);
