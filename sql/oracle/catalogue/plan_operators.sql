-- what: the operators of a plan, outermost first
-- binds: sql_id in, child_number in
-- gives: operation, options
-- needs: SELECT on SYS.V_$SQL_PLAN
-- source: Oracle Database Reference, V$SQL_PLAN
select operation, options
  from sys.v_$sql_plan
 where sql_id = :sql_id
   and child_number = :child_number
 order by id;
