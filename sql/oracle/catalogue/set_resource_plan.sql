-- what: switches on the plan that instance caging needs, where none is on
-- needs: ALTER SYSTEM; in a cluster the name of the measured instance is sent in place of the star
-- source: Oracle Database Administrator's Guide, Enabling Instance Caging
alter system set resource_manager_plan = 'DEFAULT_PLAN' scope = memory sid = '*';
