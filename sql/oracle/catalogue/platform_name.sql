-- what: the operating system of the database, such as AIX-Based Systems (64-bit)
-- needs: SELECT on SYS.V_$DATABASE; asked where platform.sql does not name Linux, Windows or AIX
-- source: Oracle Database Reference, V$DATABASE
select platform_name from sys.v_$database;
