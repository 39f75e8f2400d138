-- what: cancels what a session of this run executes, when it does not heed the driver's own break
-- template: :sid and :serial stand for numbers that are written into the text, since DDL takes no binds
-- needs: ALTER SYSTEM; 18c or newer (before: an error, and the session is ended instead)
-- source: Oracle Database SQL Language Reference, ALTER SYSTEM, CANCEL SQL
alter system cancel sql ':sid, :serial';
