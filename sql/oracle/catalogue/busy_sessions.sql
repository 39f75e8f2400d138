-- what: how many other user sessions are executing something at this moment
--       a call that sleeps or waits for a message, a pipe or a job is ACTIVE too, in an idle wait: it is not counted
-- needs: SELECT on SYS.V_$SESSION
-- source: Oracle Database Reference, V$SESSION (STATE, WAIT_CLASS); appendix Oracle Wait Events
select count(*) as busy
  from sys.v_$session
 where type = 'USER'
   and status = 'ACTIVE'
   and not (state = 'WAITING' and nvl(wait_class, '-') = 'Idle')
   and sid <> to_number(sys_context('userenv', 'sid'))
   and nvl(module, '-') <> 'dbcpu';
