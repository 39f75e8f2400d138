-- what: switches it off again, in this container alone
-- needs: ALTER SYSTEM; in a cluster the name of the measured instance is sent in place of the star
-- source: Oracle Database Reference, RESOURCE_MANAGER_PLAN
alter system set resource_manager_plan = '' scope = memory sid = '*';
