-- what: the plans under which a statement has been executed
-- binds: sql_id in
-- gives: plan hash value, child number, executions; the latest first
-- needs: SELECT on SYS.V_$SQL
-- source: Oracle Database Reference, V$SQL
select plan_hash_value, child_number, executions
  from sys.v_$sql
 where sql_id = :sql_id
 order by last_active_time desc;
