-- what: the active resource plan; without one there is no row, or one with CPU_MANAGED = OFF
-- needs: SELECT on SYS.V_$RSRC_PLAN; 11.2.0.2 or newer
-- source: Oracle Database Reference, V$RSRC_PLAN
select name, cpu_managed, instance_caging from sys.v_$rsrc_plan where is_top_plan = 'TRUE';
