-- what: the database's version, for shell/sqlplus-fanout
-- needs: nothing
-- source: Oracle Database Reference, PRODUCT_COMPONENT_VERSION
select version from sys.product_component_version where product like 'Oracle%';
