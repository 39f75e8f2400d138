-- what: the scheduler window that opens next with a resource plan of its own, which it then sets
-- gives: name, resource plan, in how many seconds
-- needs: nothing
-- source: Oracle Database Reference, ALL_SCHEDULER_WINDOWS; PL/SQL Packages and Types Reference, DBMS_SCHEDULER,
--         CREATE_WINDOW
select window_name, resource_plan,
       (cast(sys_extract_utc(next_start_date) as date) - cast(sys_extract_utc(systimestamp) as date)) * 86400 as in_s
  from sys.all_scheduler_windows
 where enabled = 'TRUE'
   and active = 'FALSE'
   and resource_plan is not null
   and next_start_date > systimestamp
 order by next_start_date;
