-- what: row source statistics off (ALL would cost CPU per row), time model on
-- needs: nothing
-- source: Oracle Database Reference, STATISTICS_LEVEL
alter session set statistics_level = typical;
