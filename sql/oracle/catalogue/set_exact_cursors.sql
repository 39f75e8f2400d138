-- what: the text of a statement is executed as it is sent, literals and all
-- needs: nothing
-- source: Oracle Database Reference, CURSOR_SHARING
alter session set cursor_sharing = exact;
