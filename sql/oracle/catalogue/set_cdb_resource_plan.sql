-- what: the same in the root of a container database, whose plans share out the CPU among its databases
-- needs: ALTER SYSTEM; in a cluster the name of the measured instance is sent in place of the star
-- source: Oracle Database Reference, RESOURCE_MANAGER_PLAN (in a CDB)
alter system set resource_manager_plan = 'DEFAULT_CDB_PLAN' scope = memory sid = '*';
