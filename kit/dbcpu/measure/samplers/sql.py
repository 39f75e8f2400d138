"""Samples /proc of a host that the database reads for us: each poll is one statement of a session of its own."""

from dbcpu.hosts.base import Host, is_over
from dbcpu.measure.samplers.base import Sampler

PREFERENCE = 10


def host_route(configured: str | None) -> str | None:
    """The one that the database reads for us."""
    return "sql"


def unavailable(host: Host | None) -> str | None:
    """It watches hosts whose files come from the database, and only those."""
    return None if is_over(host, "sql") else "the database does not read files of its host for us (--host sql)"


def open_sampler(host: Host | None, hz: float) -> Sampler:
    """Raises MeasureError where nothing can be sampled."""
    from dbcpu.measure.samplers._remote import open_over

    return open_over("sql", host, hz, unavailable(host))
