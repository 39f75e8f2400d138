-- what: switches on the plan that instance caging needs, where none is on; sent in no container of a CDB, since in a
--       pluggable database it would switch on DEFAULT_CDB_PLAN in a root without a plan, and cage the others
-- needs: ALTER SYSTEM; the name of the measured instance is sent for INSTANCE, since others of a cluster are left alone
-- source: Oracle Database Administrator's Guide, Enabling Instance Caging; Reference, RESOURCE_MANAGER_PLAN
alter system set resource_manager_plan = 'DEFAULT_PLAN' scope = memory sid = 'INSTANCE';
