"""The server's host through the database itself: by files for those who may, by pg_proctab, or why not."""

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import psycopg
import pytest
from msgspec.structs import replace

from dbcpu.errors import HostError, MeasureError, UsageError
from dbcpu.hosts.base import RemoteHost
from dbcpu.hosts.local import LocalHost
from dbcpu.hosts.topology import read_host
from dbcpu.measure import workloads
from dbcpu.measure.gate import SessionGate
from dbcpu.measure.samplers import sql
from dbcpu.measure.samplers.base import Sampled, Watched
from dbcpu.targets.postgresql.host_over_sql import GRANTS, FilesHost, ProctabHost
from dbcpu.targets.postgresql.target import LibpqTarget
from dbcpu.variants._selection import select_variants
from dbcpu.workflows.measure_run import Choices
from support.measured_run import measured
from support.servers.postgresql import DebianServer

pytestmark = [pytest.mark.postgres, pytest.mark.slow]

SMALL = Choices(sessions="1,2", size="tiny", executions=20, repeats=1, seed=1)
# A stand-in for the extension, which no package here has: the same columns, read by the superuser who defines it.
PROCTAB = """
create schema proctab;
create function proctab.pg_proctab(
  out pid integer, out comm varchar, out fullcomm varchar, out state char, out ppid integer, out pgrp integer,
  out session integer, out tty_nr integer, out tpgid integer, out flags integer, out minflt bigint,
  out cminflt bigint, out majflt bigint, out cmajflt bigint, out utime bigint, out stime bigint, out cutime bigint,
  out cstime bigint, out priority bigint, out nice bigint, out num_threads bigint, out itrealvalue bigint,
  out starttime bigint, out vsize bigint, out rss bigint, out exit_signal integer, out processor integer,
  out rt_priority bigint, out policy bigint, out delayacct_blkio_ticks bigint)
returns setof record language sql security definer as $$
  select a.pid, 'postgres', 'postgres: ' || coalesce(a.application_name, ''), f[1], f[2]::int, f[3]::int, f[4]::int,
    f[5]::int, f[6]::int, f[7]::bigint::bit(32)::int, f[8]::bigint, f[9]::bigint, f[10]::bigint, f[11]::bigint,
    f[12]::bigint, f[13]::bigint, f[14]::bigint, f[15]::bigint, f[16]::bigint, f[17]::bigint, f[18]::bigint,
    f[19]::bigint, f[20]::bigint, f[21]::bigint, f[22]::bigint, f[36]::int, f[37]::int, f[38]::bigint, f[39]::bigint,
    f[40]::bigint
  from pg_stat_activity a,
    string_to_array(regexp_replace(pg_read_file('/proc/' || a.pid || '/stat', 0, 1024, true), '^.*\\) ', ''), ' ') f
  where f is not null $$
"""

# As `create extension` leaves it, whose files no package here has.
EXTENSION = """insert into pg_extension (oid, extname, extowner, extnamespace, extrelocatable, extversion)
select pg_nextoid('pg_extension', 'oid', 'pg_extension_oid_index'), 'pg_proctab', u.oid, n.oid, false, '0.0.10'
  from pg_roles u, pg_namespace n where u.rolname = current_user and n.nspname = 'proctab'"""
TROJAN = """create function {schema}.pg_proctab() returns table (pid integer, comm text) language plpgsql as
 $$ begin execute 'alter role mallory createrole createdb'; return query select 1, 'x'; end $$"""
# Operators and functions that match an argument better than those of pg_catalog do.
LURES = (
    "create function public.quote_ident(name) returns text language sql as $$ select public.caught($1::text) $$",
    "create function public.host(inet) returns text language sql as $$ select public.caught('') $$",
    "create function public.concat_ws(text, variadic anyarray) returns text language sql as $$ select 'x' $$",
    "create function public.json_each_text(json, out name text, out value text) returns setof record language sql "
    "as $$ select public.caught(''), '' $$",
)


@pytest.fixture
def user(debian_server: DebianServer) -> Iterator[str]:
    """A login without any privilege, in a URL with its password."""
    server = debian_server
    server.ask("create role plain login password 's3cret-of-the-tests'")
    yield f"postgresql://plain:s3cret-of-the-tests@127.0.0.1:{server.port}/postgres"
    server.ask("drop owned by plain cascade")
    server.ask("drop role plain")


@pytest.fixture
def proctab(debian_server: DebianServer) -> Iterator[None]:
    debian_server.ask(PROCTAB)
    debian_server.ask("grant usage on schema proctab to public")
    debian_server.ask(EXTENSION)
    debian_server.ask("alter extension pg_proctab add function proctab.pg_proctab()")
    yield
    debian_server.ask("drop extension pg_proctab")
    debian_server.ask("drop schema proctab")


def opened(url: str, stack: ExitStack) -> tuple[RemoteHost | None, str]:
    target = stack.enter_context(LibpqTarget(url))
    host, how = target.files_host()
    if host is not None:
        stack.callback(host.close)
    return host, how


def test_superuser_sees_the_host_as_it_is(debian_server: DebianServer) -> None:
    with ExitStack() as stack:
        host, how = opened(debian_server.url, stack)
        assert isinstance(host, FilesHost)
        assert how == "pg_read_binary_file"
        over, here = read_host(host), read_host(LocalHost())
        assert all(over.topology.node_memory_bytes)  # changes from moment to moment
        assert replace(over.topology, node_memory_bytes=here.topology.node_memory_bytes) == here.topology
        assert over.facts == here.facts
        assert replace(over, topology=here.topology, facts=here.facts, limits=here.limits) == here
        assert host.list("/sys/devices/system/node") == LocalHost().list("/sys/devices/system/node")
        assert host.list("/nowhere") == ()
        with pytest.raises(FileNotFoundError):
            host.read("/proc/none")
        assert len(host.process_stats()) > 10


def test_it_can_only_be_read(debian_server: DebianServer) -> None:
    with ExitStack() as stack:
        host, _ = opened(debian_server.url, stack)
        assert host is not None
        with pytest.raises(HostError, match="can only be read; use --host ssh:NAME"):
            host.write("/sys/x", "1")
        with pytest.raises(HostError, match="can only be read"):
            host.run(("true",), 1.0)


def test_files_that_cannot_be_read_do_not_spoil_the_others(debian_server: DebianServer) -> None:
    with ExitStack() as stack:
        host, _ = opened(debian_server.url, stack)
        assert host is not None
        paths = ["/proc/uptime", "/proc/1/environ", "/proc", "/proc/none", "/proc/loadavg"]
        assert set(host.read_all(paths)) == {"/proc/uptime", "/proc/loadavg"}


def test_user_without_the_grant_is_told_what_to_grant_and_with_it_may(debian_server: DebianServer, user: str) -> None:
    with ExitStack() as stack:
        host, why = opened(user, stack)
        assert host is None
        assert GRANTS.format(user="plain") in why
        debian_server.ask(GRANTS.format(user="plain").replace("%", "%%"))
        host, _ = opened(user, stack)
        assert isinstance(host, FilesHost)
        assert host.read("/proc/sys/kernel/ostype") == "Linux\n"


def test_sessions_are_found_and_sampled_by_files(debian_server: DebianServer) -> None:
    with ExitStack() as stack:
        host, _ = opened(debian_server.url, stack)
        assert host is not None
        check_sampling(debian_server.url, host, stack, source="schedstat")


def test_sessions_are_found_and_sampled_by_proctab(debian_server: DebianServer, user: str, proctab: None) -> None:
    """Placement and CPU time by clock ticks; nothing of the host, nor of the run queue."""
    with ExitStack() as stack:
        host, how = opened(user, stack)
        assert isinstance(host, ProctabHost)
        assert how == "pg_proctab"
        assert read_host(host).topology.cpus == ()
        check_sampling(user, host, stack, source="stat")


@pytest.fixture
def mallory(debian_server: DebianServer, user: str) -> Iterator[str]:
    """A plain user who may create what he likes in a schema that all may use, and in public."""
    server = debian_server
    server.ask("create role mallory login password 's3cret-of-the-tests'")
    server.ask("create schema shop authorization mallory")
    server.ask("grant create on schema public to mallory")
    server.ask("grant usage on schema shop to public")
    yield user.replace("plain:", "mallory:")
    server.ask("drop owned by mallory cascade")
    server.ask("drop role mallory")


def ask_as(url: str, *statements: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement.encode())


def rights(server: DebianServer) -> list[tuple[Any, ...]]:
    return server.ask("select rolcreaterole, rolcreatedb from pg_roles where rolname = 'mallory'")


def test_function_of_a_stranger_is_no_proctab(debian_server: DebianServer, user: str, mallory: str) -> None:
    debian_server.ask("alter role plain createrole createdb")  # the rights that mallory is after
    ask_as(mallory, TROJAN.format(schema="shop"))
    with ExitStack() as stack:
        host, why = opened(user, stack)
    assert host is None
    assert "or the extension pg_proctab" in why
    assert rights(debian_server) == [(False, False)]


def test_extension_made_by_somebody_who_is_no_superuser_is_not_called(
    debian_server: DebianServer, user: str, mallory: str, proctab: None
) -> None:
    """Its owner may replace the function at any time."""
    debian_server.ask("alter function proctab.pg_proctab() owner to mallory")
    with ExitStack() as stack:
        assert opened(user, stack)[0] is None
    debian_server.ask("alter function proctab.pg_proctab() owner to current_user")


def test_no_name_of_a_stranger_is_resolved(debian_server: DebianServer, mallory: str, proctab: None) -> None:
    """A superuser identifies, prepares, describes and reads the host; whatever mallory defined is left alone."""
    ask_as(mallory, "create table public.prey (what text)", "grant insert on public.prey to public",
           "create function public.caught(text) returns text language sql as "
           "$$ insert into public.prey values ($1) returning what $$", *LURES)  # fmt: skip
    debian_server.ask("alter database postgres set search_path = public, pg_catalog")
    try:
        with LibpqTarget(debian_server.url) as target, ExitStack() as stack:
            session = target.connect(0, 10.0)
            stack.callback(session.close)
            session.prepare(workloads.load("postgresql", "cartesian").work("tiny"))
            assert session.identify().why_not == ""
            assert target.describe().parameters
            assert target.findings() is not None
            assert opened(debian_server.url, stack)[0] is not None
    finally:
        debian_server.ask("alter database postgres reset search_path")
    assert debian_server.ask("select count(*) from public.prey") == [(0,)]


def check_sampling(url: str, host: RemoteHost, stack: ExitStack, source: str) -> None:
    target = stack.enter_context(LibpqTarget(url))
    work = workloads.load("postgresql", "cartesian").work("short")
    gate = stack.enter_context(SessionGate(target, host, host.clock_ticks))
    gate.gather(2, work)
    assert [member.server.how for member in gate.members if not member.server.verified] == []
    with sql.open_sampler(host, 20.0) as sampler:
        sampler.start([Watched(m.session.ordinal, m.server.pid or 0, None) for m in gate.members], [])
        gate.release(1, None, 60.0)
        sampled = sampler.stop()
    for seen in sampled.sessions:
        assert seen.cpu_source == source
        assert seen.cpu_s is not None
        assert seen.cpu_s > 0.05
        assert (seen.run_delay_s is None) == (source == "stat")
        assert {one.cpu for one in seen.residency} <= os.sched_getaffinity(0)
        assert any(one.state == "R" for one in seen.residency)
    assert sampled.cpu_used_s > 0 or source == "stat"
    assert not {one.pid for one in sampled.foreign} & set(host.own_pids)
    assert sampled.clocks[0].source == "sampler (sql)"


def sample_two_of_which_one_ends(host: RemoteHost, phase_s: float) -> Sampled:
    children = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(2)]
    try:
        with sql.open_sampler(host, 50.0) as sampler:
            sampler.start([Watched(at, child.pid, None) for at, child in enumerate(children)], [])
            threading.Event().wait(phase_s)
            children[0].kill()
            children[0].wait()
            threading.Event().wait(phase_s)
            return sampler.stop()
    finally:
        for child in children:
            child.kill()
            child.wait()


def test_process_that_ends_between_two_polls_is_gone_and_the_others_stay(debian_server: DebianServer) -> None:
    with ExitStack() as stack:
        host, _ = opened(debian_server.url, stack)
        assert host is not None
        for phase_s in (0.2, 2.0, 20.0):  # a crowded machine polls late
            sampled = sample_two_of_which_one_ends(host, phase_s)
            if all(seen.residency for seen in sampled.sessions):
                break
        assert [seen.vanished for seen in sampled.sessions] == [True, False]
        assert all(seen.residency for seen in sampled.sessions)


def test_lost_session_ends_the_round_in_one_sentence(debian_server: DebianServer) -> None:
    with ExitStack() as stack:
        host, _ = opened(debian_server.url, stack)
        assert host is not None
        with sql.open_sampler(host, 50.0) as sampler:
            sampler.start([Watched(0, os.getpid(), None)], [])
            debian_server.ask("select pg_terminate_backend(%s)", host.own_pids[0])
            with pytest.raises(MeasureError, match="sampling ended in the midst of a round: the session that reads"):
                sampler.stop()


# --- a run


def test_run_through_the_database_is_sampled_and_says_so(debian_server: DebianServer, tmp_path: Path) -> None:
    for choices in (replace(SMALL, host="sql"), replace(SMALL, sampler="sql")):
        record, said = measured(debian_server.url, tmp_path, choices)
        assert "sampling server processes through the database by pg_read_binary_file" in said
        assert record.header.plan.sampler == "sql"
        assert record.header.host is not None
        for each in record.rounds:
            assert each.gate.verified == each.level
            assert each.cost is not None
            assert each.cost.sampler_cpu_s
            assert all(session.residency for session in each.sessions)


def test_user_who_may_not_is_refused_what_he_insists_on(debian_server: DebianServer, user: str, tmp_path: Path) -> None:
    with pytest.raises(MeasureError, match=r"^--host sql does not work: user plain may not read the server's /proc"):
        measured(user, tmp_path, replace(SMALL, sampler="sql"))


def test_run_by_proctab_has_no_host_and_still_says_where_sessions_ran(user: str, proctab: None, tmp_path: Path) -> None:
    record, said = measured(user, tmp_path, replace(SMALL, host="sql", vcpus=2))
    assert "sampling server processes through the database by pg_proctab" in said
    assert record.header.host is None
    assert all(session.residency for each in record.rounds for session in each.sessions)


def test_host_that_can_only_be_read_is_not_varied(debian_server: DebianServer, tmp_path: Path) -> None:
    choices = replace(SMALL, host="sql", variants=select_variants("baseline,cpus:0", False))
    with pytest.raises(UsageError, match="can only be read; reach it with --host ssh:NAME"):
        measured(debian_server.url, tmp_path, choices)
