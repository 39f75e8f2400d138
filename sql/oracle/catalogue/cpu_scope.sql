-- what: across which instances Resource Manager manages CPU by the active plan of this container (23ai)
-- gives: OFF where the plan manages no CPU, INSTANCE_ONLY or SERVER_WIDE
-- needs: SELECT on SYS.V_$RSRC_PLAN (Oracle's own scripts grant it to PUBLIC); asked from 23ai on
-- source: Oracle Database Reference 23ai, V$RSRC_PLAN
select cpu_scope
  from sys.v_$rsrc_plan
 where is_top_plan = 'TRUE'
   and con_id = to_number(sys_context('userenv', 'con_id'))
 order by name;
