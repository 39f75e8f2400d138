-- what: the instance, and whether it is one of a cluster (PARALLEL = YES)
-- needs: SELECT on SYS.V_$INSTANCE
-- source: Oracle Database Reference, V$INSTANCE
select instance_number, instance_name, host_name, version, parallel from sys.v_$instance;
