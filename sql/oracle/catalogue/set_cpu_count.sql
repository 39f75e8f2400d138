-- what: instance caging for a variant: how many CPUs the instance may use, until it is restarted or put back
-- template: :cpus stands for a number that is written into the text, since DDL takes no binds
-- needs: ALTER SYSTEM
-- source: Oracle Database Reference, CPU_COUNT; Administrator's Guide, Enabling Instance Caging
alter system set cpu_count = :cpus scope = memory;
