-- what: ends a session that a killed run left behind on an instance of a cluster; otherwise as end_session.sql
-- template: :sid, :serial and :instance stand for numbers that are written into the text, since DDL takes no binds
-- needs: ALTER SYSTEM
-- source: Oracle Database SQL Language Reference, ALTER SYSTEM, KILL SESSION
alter system kill session ':sid,:serial,@:instance' immediate;
