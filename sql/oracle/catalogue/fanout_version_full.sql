-- what: the database's version with its release update, for shell/sqlplus-fanout: VERSION is 19.0.0.0.0 for every 19c
-- needs: nothing; 18c or newer (before: ORA-00904)
-- source: Oracle Database Reference, PRODUCT_COMPONENT_VERSION
select version_full from sys.product_component_version where product like 'Oracle%';
