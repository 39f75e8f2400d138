-- what: how this pluggable database is open (READ WRITE, READ ONLY)
-- needs: SELECT on SYS.V_$PDBS; asked in a pluggable database of a primary from 21c on, where Data Guard may protect it alone
-- source: Oracle Database Reference, V$PDBS; Data Guard Broker, Managing Members of a DG PDB Broker Configuration
select open_mode from sys.v_$pdbs where con_id = to_number(sys_context('userenv', 'con_id'));
