-- what: the plans under which a statement has been executed lately; what others once executed is none of this run's
-- binds: sql_id in; oldest_s, newest_s in (plans that were last active longer ago, or less long ago, are left out: seconds
--        by SYSTIMESTAMP; newest_s is below 0, since LAST_ACTIVE_TIME, a DATE, may be of another time zone)
-- gives: plan hash value, child number, executions; the latest first
-- needs: SELECT on SYS.V_$SQL
-- source: Oracle Database Reference, V$SQL, FIXED_DATE (by which SYSDATE stands still), TIME_AT_DBTIMEZONE
select plan_hash_value, child_number, executions
  from sys.v_$sql
 where sql_id = :sql_id
   and last_active_time >= cast(systimestamp as date) - :oldest_s / 86400
   and last_active_time <= cast(systimestamp as date) - :newest_s / 86400
 order by last_active_time desc;
