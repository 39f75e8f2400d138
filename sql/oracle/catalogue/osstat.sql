-- what: the host's CPUs as the instance sees them, and what they did since its start (hundredths of a second)
-- gives: name, value
-- needs: SELECT on SYS.V_$OSSTAT
-- source: Oracle Database Reference, V$OSSTAT (rows differ by platform and version); read before and after each round
--         where no server process is sampled
select stat_name, value
  from sys.v_$osstat
 where stat_name in ('NUM_CPUS', 'NUM_CPU_CORES', 'NUM_CPU_SOCKETS', 'NUM_VCPUS', 'NUM_LCPUS', 'LOAD', 'BUSY_TIME',
                     'IDLE_TIME', 'USER_TIME', 'SYS_TIME', 'NICE_TIME', 'IOWAIT_TIME', 'OS_CPU_WAIT_TIME',
                     'RSRC_MGR_CPU_WAIT_TIME', 'PHYSICAL_MEMORY_BYTES', 'FREE_MEMORY_BYTES');
