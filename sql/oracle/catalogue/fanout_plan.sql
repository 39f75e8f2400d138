-- what: the operators of the plan under which this session executed the statement before this one, outermost first, for
--       shell/sqlplus-fanout
-- gives: operation and options, separated by a blank
-- needs: SELECT on SYS.V_$SQL_PLAN and SYS.V_$SESSION; 10.2 or newer (before: ORA-00904)
-- source: Oracle Database Reference, V$SQL_PLAN, V$SESSION (PREV_SQL_ID, PREV_CHILD_NUMBER)
select rtrim(operation || ' ' || nvl(options, ' ')) as plan_line from sys.v_$sql_plan
 where (sql_id, child_number) = (select prev_sql_id, prev_child_number from sys.v_$session
                                  where sid = to_number(sys_context('userenv', 'sid')))
 order by id;
