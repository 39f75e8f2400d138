-- what: no parallel query in this session
-- needs: nothing
-- source: Oracle Database SQL Language Reference, ALTER SESSION
alter session disable parallel query;
