-- what: the product with its edition (Enterprise, Standard 2, Express, Free); before 18c also a row
--       "TNS for" and the operating system
-- needs: nothing
-- source: Oracle Database Reference, PRODUCT_COMPONENT_VERSION
select product, version, status
  from sys.product_component_version
 where upper(product) like 'ORACLE%'
    or upper(product) like 'TNS FOR %';
