-- what: whether the database is a cluster (1) or not (0), where V$INSTANCE may not be read
-- binds: answer out
-- needs: EXECUTE on SYS.DBMS_UTILITY (granted to PUBLIC)
-- source: Oracle Database PL/SQL Packages and Types Reference, DBMS_UTILITY.IS_CLUSTER_DATABASE
begin
  if sys.dbms_utility.is_cluster_database then
    :answer := 1;
  else
    :answer := 0;
  end if;
end;
/
