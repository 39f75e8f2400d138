-- what: 1 if this session may cancel statements and end sessions, 0 if not
-- needs: nothing
-- source: Oracle Database Reference, SESSION_PRIVS
select count(*) as may_end_sessions from sys.session_privs where privilege = 'ALTER SYSTEM';
