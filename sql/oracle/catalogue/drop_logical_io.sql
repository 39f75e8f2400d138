-- what: drops the table of workload logical_io after the run
-- needs: nothing for one's own table
-- source: Oracle Database SQL Language Reference, DROP TABLE
drop table dbcpu_logical_io purge;
