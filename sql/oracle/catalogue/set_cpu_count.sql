-- what: instance caging for a variant: how many CPUs the instance may use (in a pluggable database: it alone), until it is restarted or put back
-- template: :cpus stands for a number (0: not set) that is written into the text, since DDL takes no binds; in a
--           cluster the name of the measured instance is sent in place of the star
-- needs: ALTER SYSTEM
-- source: Oracle Database Reference, CPU_COUNT; Administrator's Guide, Enabling Instance Caging
alter system set cpu_count = :cpus scope = memory sid = '*';
