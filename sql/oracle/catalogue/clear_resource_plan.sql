-- what: switches it off again, in this container alone
-- needs: ALTER SYSTEM; the name of the measured instance is sent for INSTANCE, since others of a cluster are left alone
-- source: Oracle Database Reference, RESOURCE_MANAGER_PLAN
alter system set resource_manager_plan = '' scope = memory sid = 'INSTANCE';
