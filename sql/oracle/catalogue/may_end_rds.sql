-- what: 1 if this user may execute the package that ends sessions on Amazon RDS, 0 if not: ALL_OBJECTS has what is accessible
-- needs: nothing; asked on Amazon RDS only
-- source: Oracle Database Reference, ALL_OBJECTS; Amazon RDS User Guide, Killing a session
select count(*) as may_end_sessions
  from sys.all_objects
 where owner = 'RDSADMIN'
   and object_name = 'RDSADMIN_UTIL'
   and object_type = 'PACKAGE';
