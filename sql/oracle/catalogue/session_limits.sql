-- what: how many sessions and processes there are, and how many there may be
-- gives: name, in use, limit as text (a number or UNLIMITED)
--        no row in a pluggable database: its limits are parameters, of which PROCESSES is the whole CDB's
-- needs: SELECT on SYS.V_$RESOURCE_LIMIT
-- source: Oracle Database Reference, V$RESOURCE_LIMIT
select resource_name, current_utilization, trim(limit_value) as limit_value
  from sys.v_$resource_limit
 where resource_name in ('processes', 'sessions');
