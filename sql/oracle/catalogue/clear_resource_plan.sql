-- what: switches it off again
-- needs: ALTER SYSTEM
-- source: Oracle Database Reference, RESOURCE_MANAGER_PLAN
alter system set resource_manager_plan = '' scope = memory;
