-- what: 1 on Amazon RDS, 0 elsewhere
-- needs: nothing
-- source: Amazon RDS User Guide, RDSADMIN; Oracle Database Reference, ALL_USERS
select count(*) as rds from sys.all_users where username = 'RDSADMIN';
