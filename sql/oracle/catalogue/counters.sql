-- what: this session's counters that prove that the work was CPU only
-- gives: name, value; CPU in hundredths of a second
-- needs: SELECT on SYS.V_$MYSTAT and SYS.V_$STATNAME
-- source: Oracle Database Reference, V$MYSTAT, Statistics Descriptions
select n.name, m.value
  from sys.v_$mystat m, sys.v_$statname n
 where n.statistic# = m.statistic#
   and n.name in ('CPU used by this session', 'session logical reads', 'physical reads', 'physical writes',
                  'physical reads direct temporary tablespace', 'physical writes direct temporary tablespace',
                  'redo size', 'parse count (hard)', 'sorts (disk)', 'queries parallelized',
                  'session pga memory max', 'workarea executions - optimal', 'workarea executions - onepass',
                  'workarea executions - multipass');
