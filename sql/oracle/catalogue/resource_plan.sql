-- what: the active resource plan of this container; without one there is no row, or one with CPU_MANAGED = OFF
--       in the root there is a row for each container that has a plan, of which this takes the root's own
-- needs: SELECT on SYS.V_$RSRC_PLAN (Oracle's own scripts grant it to PUBLIC); 12.1 or newer (before: ORA-00904)
-- source: Oracle Database Reference, V$RSRC_PLAN; SQL Language Reference, SYS_CONTEXT (CON_ID: 0 outside of a CDB)
select name, cpu_managed, instance_caging
  from sys.v_$rsrc_plan
 where is_top_plan = 'TRUE'
   and con_id = to_number(sys_context('userenv', 'con_id'))
 order by name;
