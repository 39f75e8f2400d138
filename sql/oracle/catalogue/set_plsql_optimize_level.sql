-- what: PL/SQL is compiled at the default level, so that blocks are the same work everywhere
-- needs: nothing
-- source: Oracle Database Reference, PLSQL_OPTIMIZE_LEVEL
alter session set plsql_optimize_level = 2;
