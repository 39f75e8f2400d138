-- what: the decimal sign and group separator of this session, read back, for shell/sqlplus-fanout
-- gives: name and value, separated by a blank
-- needs: nothing
-- source: Oracle Database Reference, NLS_SESSION_PARAMETERS
select lower(parameter) || ' ' || value as setting
  from sys.nls_session_parameters where parameter = 'NLS_NUMERIC_CHARACTERS';
