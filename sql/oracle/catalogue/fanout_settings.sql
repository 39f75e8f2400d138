-- what: what this session has set, read back, for shell/sqlplus-fanout: one column, which sqlplus does not wrap
-- gives: name and value, separated by a blank
-- needs: SELECT on SYS.V_$PARAMETER
-- source: Oracle Database Reference, V$PARAMETER
select name || ' ' || value as setting
  from sys.v_$parameter
 where name in ('result_cache_mode', 'timed_statistics', 'statistics_level', 'cursor_sharing',
                'plsql_optimize_level', 'optimizer_ignore_hints', 'optimizer_capture_sql_plan_baselines');
