-- what: the same for versions before 12.1, which have no containers
-- gives: as resource_plan
-- needs: SELECT on SYS.V_$RSRC_PLAN; 11.2.0.2 or newer
-- source: Oracle Database Reference 11.2, V$RSRC_PLAN
select name, cpu_managed, instance_caging from sys.v_$rsrc_plan where is_top_plan = 'TRUE' order by name;
