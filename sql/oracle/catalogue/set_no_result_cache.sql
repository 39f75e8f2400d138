-- what: no statement is answered from the result cache unless it asks for it by a hint
-- needs: nothing
-- source: Oracle Database Reference, RESULT_CACHE_MODE (from 11.1)
alter session set result_cache_mode = manual;
