-- what: the limits of this user's profile; they hold where RESOURCE_LIMIT is TRUE, the default since 12.1.0.2
-- gives: name, limit as text (a number or UNLIMITED): CPU in hundredths of a second, times in minutes, reads in blocks
-- needs: nothing
-- source: Oracle Database Reference, USER_RESOURCE_LIMITS; SQL Language Reference, CREATE PROFILE
select resource_name, "LIMIT" as limit_value
  from sys.user_resource_limits
 where resource_name in ('SESSIONS_PER_USER', 'CPU_PER_SESSION', 'CPU_PER_CALL', 'IDLE_TIME', 'CONNECT_TIME',
                         'LOGICAL_READS_PER_SESSION', 'LOGICAL_READS_PER_CALL', 'COMPOSITE_LIMIT');
