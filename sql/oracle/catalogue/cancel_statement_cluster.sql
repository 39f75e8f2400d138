-- what: cancels what a session of this run executes on an instance of a cluster; otherwise as cancel_statement.sql
-- template: :sid, :serial and :instance stand for numbers that are written into the text, since DDL takes no binds
-- needs: ALTER SYSTEM; 18c or newer
-- source: Oracle Database SQL Language Reference, ALTER SYSTEM, CANCEL SQL
alter system cancel sql ':sid, :serial, @:instance';
