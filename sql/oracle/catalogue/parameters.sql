-- what: the initialization parameters that decide how much CPU a session gets, or how the measured statement is run
-- gives: name, value, TRUE if the parameter file does not set it, FALSE if it is as at the start
-- needs: SELECT on SYS.V_$PARAMETER
-- source: Oracle Database Reference, V$PARAMETER
select name, value, isdefault, ismodified
  from sys.v_$parameter
 where name in ('cpu_count', 'cpu_min_count', 'resource_manager_plan', 'resource_manager_cpu_allocation',
                'parallel_max_servers', 'parallel_degree_policy', 'threaded_execution', 'use_dedicated_broker',
                'shared_servers', 'statistics_level', 'sql_trace', 'timed_statistics', 'result_cache_mode',
                'cursor_sharing', 'optimizer_features_enable', 'plsql_optimize_level', 'plsql_code_type',
                'processes', 'sessions', 'sga_target', 'memory_target', 'pga_aggregate_target',
                'pga_aggregate_limit', 'use_large_pages', 'db_block_size', 'compatible',
                'control_management_pack_access', 'optimizer_ignore_hints', 'optimizer_adaptive_plans',
                'optimizer_adaptive_statistics', 'optimizer_adaptive_features', 'processor_group_name', 'pdb_lockdown',
                'inmemory_size', 'resource_limit', 'max_idle_time', 'max_idle_blocker_time',
                'resource_manager_cpu_scope');
