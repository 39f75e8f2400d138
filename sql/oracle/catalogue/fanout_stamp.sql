-- what: the server's clock as text, UTC with microseconds: shell/sqlplus-fanout sends it before and after each execution
-- needs: nothing
-- source: Oracle Database SQL Language Reference, SYS_EXTRACT_UTC, TO_CHAR (datetime), Datetime Format Models
select to_char(sys_extract_utc(systimestamp), 'YYYY-MM-DD HH24:MI:SS.FF6') as stamp from dual;
