-- what: the optimizer obeys hints, also where the instance ignores them (as on Autonomous Data Warehouse)
-- needs: nothing; 18c or newer (before: ORA-02248, and hints are always obeyed)
-- source: Oracle Database Reference, OPTIMIZER_IGNORE_HINTS
alter session set optimizer_ignore_hints = false;
