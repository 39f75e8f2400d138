"""Every file below sql/ is a whole workload: its header, its sizes, and answers that really come out."""

import itertools
import math
import re
import select
from importlib.resources import files

import numpy as np
import pytest

from dbcpu import registry
from dbcpu.config.request import Request
from dbcpu.hosts.cleanup_guard import Guard
from dbcpu.measure import workloads
from dbcpu.simulator.runs import SIZES
from dbcpu.targets.base import load_target

DATABASES = sorted(folder.name for folder in (files("dbcpu") / "sql").iterdir() if folder.is_dir())
WORKLOADS = [(database, name) for database in DATABASES for name in workloads.names(database)]
DEADLINE_S = 60.0

every_workload = pytest.mark.parametrize(
    ("database", "name"), WORKLOADS, ids=[f"{database}-{name}" for database, name in WORKLOADS]
)


@every_workload
def test_the_header_is_complete(database: str, name: str) -> None:
    workload = workloads.load(database, name)
    for key in ("what", "answer", "rows", "sizes", "memory", "needs", "try"):
        assert workload.header.get(key), f"{workloads.file_name(database, name)}: no '{key}:'"
    assert workloads.file_name(database, name) in workload.header["try"], "'try' runs this file by hand"
    assert ". " not in workload.what, "'what' is one sentence"


@every_workload
def test_sizes_have_known_names_and_rise(database: str, name: str) -> None:
    sizes = workloads.load(database, name).sizes
    assert list(sizes) == [size for size in workloads.SIZES if size in sizes]
    assert "tiny" in sizes
    numbers = list(sizes.values())
    assert all(lower < higher for lower, higher in itertools.pairwise(numbers))


@every_workload
def test_every_size_is_whole(database: str, name: str) -> None:
    workload = workloads.load(database, name)
    for size, n in workload.sizes.items():
        work = workload.work(size)
        assert work.n == n
        assert work.rows >= n
        assert work.memory_bytes > 0
        assert float(work.answer) > 0
        assert work.sql
        for text in (work.sql, work.warm_sql):
            assert ":n" not in text.replace("::n", ""), "a size was left unfilled"
        if database != "shell":
            assert work.sql.lstrip().lower().startswith(("select", "with", "declare", "begin", "call"))


GENERATED = re.compile(r"connect by level <= (\d+)", re.IGNORECASE)
DEEPEST = 3000
"""CONNECT BY keeps each level in the PGA, some 50 to 100 bytes, and has no other place for it: ORA-30009."""


@pytest.mark.parametrize("name", workloads.names("oracle"))
def test_no_generator_of_oracle_takes_memory_that_grows_with_the_size(name: str) -> None:
    workload = workloads.load("oracle", name)
    for size in workload.sizes:
        work = workload.work(size)
        levels = [int(level) for text in (*work.setup, work.sql) for level in GENERATED.findall(text)]
        assert max(levels, default=0) <= DEEPEST, size


def test_rows_and_answer_of_logical_io_are_those_that_its_generators_and_its_table_give() -> None:
    workload = workloads.load("oracle", "logical_io")
    counted = {}
    for size in workload.sizes:
        work = workload.work(size)
        (stored,) = GENERATED.findall(work.setup[-1])
        counted[size] = math.prod(int(level) for level in GENERATED.findall(work.sql)) * int(stored)
        assert (work.rows, work.answer) == (counted[size], str(counted[size]))
    assert counted == {"tiny": 20_000, "short": 3_000_000, "medium": 10_000_000, "long": 30_000_000}


def test_simulated_runs_have_the_sizes_of_the_real_cartesian() -> None:
    for database, name in WORKLOADS:
        if name == "cartesian":
            assert workloads.load(database, name).sizes == SIZES, f"sql/{database}/cartesian.sql"


@pytest.mark.parametrize("database", DATABASES)
def test_a_folder_of_sql_belongs_to_a_target_and_has_the_usual_workload(database: str) -> None:
    assert database in registry.names("targets")
    assert workloads.usual(database) in workloads.names(database)
    assert workloads.usual(database) == ("increment" if database == "shell" else "cartesian")


@pytest.mark.parametrize(
    ("kind", "name"), [(kind, name) for kind in ("sqlite", "shell") for name in workloads.names(kind)]
)
def test_the_tiny_answer_comes_out_without_a_server(kind: str, name: str) -> None:
    with Guard() as guard, load_target(kind).open_target(Request(kind, kind), guard) as target:
        session = target.connect(0, DEADLINE_S)
        session.prepare(workloads.load(kind, name).work("tiny"))
        session.warm()
        session.start(1, None)
        descriptor, finished = session.fileno(), False
        assert descriptor is not None
        while not finished:
            assert select.select([descriptor], [], [], DEADLINE_S)[0], "nothing came"
            finished = session.finish()
        outcome = session.outcome()
    assert (outcome.answer_ok, outcome.error) == (True, None)


def test_the_sqlite_checksums_are_those_of_the_recurrence() -> None:
    workload = workloads.load("sqlite", "arithmetic")
    for size, n in workload.sizes.items():
        assert workload.work(size).answer == str(sum_of_recurrence(n)), size
    assert sum_of_recurrence(3000) == plain_sum_of_recurrence(3000)


def plain_sum_of_recurrence(n: int) -> int:
    x, total = 1, 0
    for _ in range(n):
        x = (1103515245 * x + 12345) % 2**31
        total += x
    return total


def sum_of_recurrence(n: int) -> int:
    """The same by blocks: k steps are one affine map, so a block of k terms gives the next k at once."""
    mask, block = np.uint64(2**31 - 1), 1 << 20
    x = np.empty(block, dtype=np.uint64)
    x[0] = plain_sum_of_recurrence(1)
    factor, offset, known = 1103515245, 12345, 1
    while known < block:
        x[known : 2 * known] = (x[:known] * np.uint64(factor) + np.uint64(offset)) & mask
        factor, offset, known = factor * factor % 2**31, (factor * offset + offset) % 2**31, 2 * known
    total = 0
    for begin in range(0, n, block):
        total += int(x[: n - begin].sum())
        x = (x * np.uint64(factor) + np.uint64(offset)) & mask
    return total
