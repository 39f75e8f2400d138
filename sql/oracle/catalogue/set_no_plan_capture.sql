-- what: no SQL plan baseline is made of the measured text, which would stay in SYSAUX after the run
-- needs: nothing; 11.1 or newer (before: ORA-02248, and there are none)
-- source: Oracle Database Reference, OPTIMIZER_CAPTURE_SQL_PLAN_BASELINES
alter session set optimizer_capture_sql_plan_baselines = false;
