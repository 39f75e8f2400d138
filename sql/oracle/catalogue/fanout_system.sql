-- what: the operating system of the database, such as TNS for IBM/AIX RISC System/6000: (up to 12.2; later there is no such row)
-- needs: nothing
-- source: Oracle Database Reference, PRODUCT_COMPONENT_VERSION
select product from sys.product_component_version where upper(product) like 'TNS FOR %';
