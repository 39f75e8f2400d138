-- what: frees a session's own rows of workload logical_io, so that the table can be dropped
-- needs: nothing for one's own table
-- source: Oracle Database SQL Language Reference, TRUNCATE TABLE
truncate table dbcpu_logical_io;
