"""The plans of the workloads, as V$SQL_PLAN has them: (operation, options), outermost first."""

from support.doubles.oracle.session import Session

_ROWS = (("VIEW", None), ("COUNT", None), ("CONNECT BY", "WITHOUT FILTERING"), ("FAST DUAL", None))
_STORED = (("VIEW", None), ("TABLE ACCESS", "FULL"))
_CARTESIAN, _NESTED = ("MERGE JOIN", "CARTESIAN"), ("NESTED LOOPS", None)


def _product(
    sources: int, source: tuple[tuple[str, str | None], ...], join: tuple[str, str | None] = _CARTESIAN
) -> tuple[tuple[str, str | None], ...]:
    """The joins of so many row sources, outermost first."""
    return (*(join,) * (sources - 1), *source, *(("BUFFER", "SORT"), *source) * (sources - 1))


_PLANS: dict[str, tuple[tuple[str, str | None], ...]] = {
    "cartesian_cte": (
        ("SELECT STATEMENT", None), ("TEMP TABLE TRANSFORMATION", None), ("LOAD AS SELECT", "(CURSOR DURATION MEMORY)"),
        ("COUNT", None), ("CONNECT BY", "WITHOUT FILTERING"), ("FAST DUAL", None), ("SORT", "AGGREGATE"),
        *_product(4, _STORED),
    ),
    "hashing": (
        ("SELECT STATEMENT", None), ("SORT", "AGGREGATE"), ("VIEW", None), ("COUNT", None), *_product(2, _ROWS),
    ),
    "emp_join": (("SELECT STATEMENT", None), ("SORT", "AGGREGATE"), *_product(5, _ROWS)),
    "logical_io": (
        ("SELECT STATEMENT", None), ("SORT", "AGGREGATE"), ("NESTED LOOPS", None), *_product(2, _ROWS),
        ("TABLE ACCESS", "FULL"),
    ),
}  # fmt: skip
_PRODUCT_PLAN = (("SELECT STATEMENT", None), ("SORT", "AGGREGATE"), *_product(4, _ROWS))
_NESTED_PLAN = (("SELECT STATEMENT", None), ("SORT", "AGGREGATE"), *_product(4, _ROWS, _NESTED))


def operators(me: Session, name: str) -> tuple[tuple[str, str | None], ...]:
    """The plan of a workload under this server's faults; that of ``cartesian`` for a name that is not known."""
    faults = me.server.faults
    plan = _PLANS.get(name, _NESTED_PLAN if faults.nested_loops else _PRODUCT_PLAN)
    if faults.groups_early:
        plan = (*plan[:2], ("HASH", "GROUP BY"), *plan[2:])
    return (plan[0], ("RESULT CACHE", None), *plan[1:]) if me.caches(name) else plan
