-- what: what this session has set, read back: V$PARAMETER shows the session's own values
-- gives: name, value
-- needs: SELECT on SYS.V_$PARAMETER
-- source: Oracle Database Reference, V$PARAMETER
select name, value
  from sys.v_$parameter
 where name in ('result_cache_mode', 'timed_statistics', 'statistics_level', 'cursor_sharing',
                'plsql_optimize_level', 'optimizer_ignore_hints', 'optimizer_capture_sql_plan_baselines');
