-- what: how many other user sessions are executing something at this moment
-- needs: SELECT on SYS.V_$SESSION
-- source: Oracle Database Reference, V$SESSION
select count(*) as busy
  from sys.v_$session
 where type = 'USER'
   and status = 'ACTIVE'
   and sid <> to_number(sys_context('userenv', 'sid'))
   and nvl(module, '-') <> 'dbcpu';
