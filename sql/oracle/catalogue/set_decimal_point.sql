-- what: numbers become text with a decimal point, whatever the territory
-- needs: nothing
-- source: Oracle Database Globalization Support Guide, NLS_NUMERIC_CHARACTERS
alter session set nls_numeric_characters = '.,';
