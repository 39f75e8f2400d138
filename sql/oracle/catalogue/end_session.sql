-- what: ends a session that a killed run left behind; sent only for sessions of the same user whose driver is dead
-- template: :sid and :serial stand for numbers that are written into the text, since DDL takes no binds
-- needs: ALTER SYSTEM
-- source: Oracle Database SQL Language Reference, ALTER SYSTEM, KILL SESSION
alter system kill session ':sid,:serial' immediate;
