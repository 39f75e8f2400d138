-- what: whether a standby applies redo while it is open (READ ONLY WITH APPLY), or not (READ ONLY)
-- needs: SELECT on SYS.V_$DATABASE; asked where database_role.sql names a physical standby or a True Cache
-- source: Oracle Database Reference, V$DATABASE (OPEN_MODE)
select open_mode from sys.v_$database;
