-- what: the operating system for which this Oracle Database was built, such as x86_64/Linux 2.4.xx
-- needs: EXECUTE on SYS.DBMS_UTILITY (granted to PUBLIC)
-- source: Oracle Database PL/SQL Packages and Types Reference, DBMS_UTILITY.PORT_STRING
select sys.dbms_utility.port_string as port_string from sys.dual;
