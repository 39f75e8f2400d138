-- what: waits and CPU of this session are timed; an instance with STATISTICS_LEVEL = BASIC has all times as zero
-- needs: nothing; before set_statistics_level, since TYPICAL and TIMED_STATISTICS = FALSE exclude each other (ORA-00044)
-- source: Oracle Database Reference, TIMED_STATISTICS; Error Help, ORA-00044
alter session set timed_statistics = true;
