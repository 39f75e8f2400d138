-- what: the scheduler window that is open now, and the resource plan that it switches on
-- needs: nothing
-- source: Oracle Database Reference, ALL_SCHEDULER_WINDOWS; Administrator's Guide, Managing Automated Maintenance Tasks
select window_name, resource_plan from sys.all_scheduler_windows where active = 'TRUE';
