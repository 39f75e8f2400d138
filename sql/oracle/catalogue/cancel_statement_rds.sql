-- what: the same on Amazon RDS, where ALTER SYSTEM is not granted
-- binds: sid in, serial in
-- needs: EXECUTE on RDSADMIN.RDSADMIN_UTIL (the master user has it)
-- source: Amazon RDS User Guide, Canceling a SQL statement in a session
begin
  rdsadmin.rdsadmin_util.cancel(sid => :sid, serial => :serial);
end;
/
