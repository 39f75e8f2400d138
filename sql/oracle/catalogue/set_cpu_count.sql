-- what: instance caging for a variant: how many CPUs the instance may use (in a pluggable database: it alone), until it is restarted or put back
-- template: :cpus stands for a number (0: not set) that is written into the text, since DDL takes no binds; the
--           name of the measured instance stands for INSTANCE: other instances of a cluster keep their own value
-- needs: ALTER SYSTEM
-- source: Oracle Database Reference, CPU_COUNT; Administrator's Guide, Enabling Instance Caging
alter system set cpu_count = :cpus scope = memory sid = 'INSTANCE';
