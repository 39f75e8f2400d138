#!/bin/sh
# Roles of a shared store, as docs/store.md has them, and a reader for Grafana. PostgreSQL's image runs it once, when the database is made.
#
# usage: roles.sh       in the environment: POSTGRES_USER, POSTGRES_DB, DBCPU_OWNER_PASSWORD, DBCPU_READER_PASSWORD
# needs: psql, and that POSTGRES_USER is a superuser
# exit: 0 all roles are there
set -eu
: "${DBCPU_OWNER_PASSWORD:?}" "${DBCPU_READER_PASSWORD:?}"
# psql reads the passwords from its environment: they are in no process list.
psql --quiet --no-psqlrc --set ON_ERROR_STOP=1 --username "$POSTGRES_USER" --dbname "$POSTGRES_DB" <<'SQL'
\getenv owner_password DBCPU_OWNER_PASSWORD
\getenv reader_password DBCPU_READER_PASSWORD
create role dbcpu_owner login password :'owner_password';
create role dbcpu_writer nologin;
create role dbcpu_reader nologin;
create role dbcpu_grafana login password :'reader_password' in role dbcpu_reader;
alter role dbcpu_grafana set default_transaction_read_only = on;
alter role dbcpu_grafana set statement_timeout = '60s';
select format('revoke all on database %I from public', current_database()) \gexec
select format('grant connect on database %I to dbcpu_owner, dbcpu_writer, dbcpu_reader', current_database()) \gexec
revoke all on schema public from public;
grant usage, create on schema public to dbcpu_owner;
grant usage on schema public to dbcpu_writer, dbcpu_reader;
-- For the tables that dbcpu store upgrade makes later.
alter default privileges for role dbcpu_owner in schema public grant select on tables to dbcpu_reader, dbcpu_writer;
SQL
