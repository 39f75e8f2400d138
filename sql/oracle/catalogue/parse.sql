-- what: parses the measured text without executing it, and keeps its cursor open for run.sql
-- binds: text in; is_query in (1 for a query of one row, 0 for a block that sets :answer); cursor_id out
-- needs: nothing (DBMS_SQL is granted to PUBLIC)
-- source: Oracle Database PL/SQL Packages and Types Reference, DBMS_SQL
declare
  c integer := sys.dbms_sql.open_cursor;
  answer varchar2(4000);
begin
  sys.dbms_sql.parse(c, :text, sys.dbms_sql.native);
  if :is_query = 1 then
    sys.dbms_sql.define_column(c, 1, answer, 4000);
  end if;
  :cursor_id := c;
end;
/
