-- what: what Resource Manager lets this pluggable database use, whichever plan does it, also one of the root
-- gives: NUM_CPUS (CPU_COUNT where the instance is caged, else the CPUs of the host), RUNNING_SESSIONS_LIMIT (how many
--        sessions may run at a time), CPU_UTILIZATION_LIMIT (the same in percent of the host's CPUs), CPU_WAIT_TIME
--        (milliseconds that sessions waited for it); of the last interval, a minute or less; and how many seconds ago
--        it ended (off by quarter hours where END_TIME, a DATE, is of another time zone): without metrics, as with
--        STATISTICS_LEVEL = BASIC, no interval follows
-- needs: SELECT on SYS.V_$RSRCPDBMETRIC; 12.2 or newer, and asked in a pluggable database only
-- source: Oracle Database Reference, V$RSRCPDBMETRIC, STATISTICS_LEVEL
select num_cpus, running_sessions_limit, cpu_utilization_limit, cpu_wait_time,
       (cast(systimestamp as date) - end_time) * 86400 as age_s
  from sys.v_$rsrcpdbmetric
 where con_id = to_number(sys_context('userenv', 'con_id'))
 order by end_time desc;
