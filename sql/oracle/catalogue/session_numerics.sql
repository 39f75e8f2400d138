-- what: the decimal sign and group separator of this session, read back
-- gives: name, value
-- needs: nothing
-- source: Oracle Database Reference, NLS_SESSION_PARAMETERS
select lower(parameter) as name, value from sys.nls_session_parameters where parameter = 'NLS_NUMERIC_CHARACTERS';
