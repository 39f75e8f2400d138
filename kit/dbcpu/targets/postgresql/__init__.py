"""A PostgreSQL server that is already running: SQLAlchemy URL, or libpq's environment, service file and .pgpass."""

from collections.abc import Mapping

from dbcpu.config.request import Request
from dbcpu.errors import UsageError
from dbcpu.hosts.cleanup_guard import Guard
from dbcpu.targets.base import Target
from dbcpu.targets.postgresql.target import LibpqTarget


def open_target(request: Request, guard: Guard) -> Target:
    """With no URL, libpq takes everything from its environment, as psql does.

    Raises:
        UsageError: the URL has a parameter that libpq does not know.
    """
    from psycopg import Error
    from psycopg.conninfo import make_conninfo
    from sqlalchemy.engine import make_url

    values: dict[str, str | int] = {"application_name": "dbcpu"}
    if request.url:
        url = make_url(request.url)
        named = {"host": url.host, "port": url.port, "user": url.username, "dbname": url.database}
        values.update({key: value for key, value in named.items() if value})
        values.update(_single(url.query))
    if request.password is not None:
        values["password"] = request.password
    try:
        conninfo = make_conninfo("", **values)
    except Error as error:
        raise UsageError(
            f"the target {request.name} is not understood by libpq: {' '.join(str(error).split())}; "
            "its documentation lists the parameters of a connection (Parameter Key Words)"
        ) from None
    return LibpqTarget(conninfo)


def _single(query: Mapping[str, str | tuple[str, ...]]) -> dict[str, str]:
    """SQLAlchemy gives a tuple where a parameter is repeated; libpq wants lists joined by commas."""
    return {key: value if isinstance(value, str) else ",".join(value) for key, value in query.items()}
