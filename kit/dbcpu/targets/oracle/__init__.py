"""An Oracle database, from a SQLAlchemy URL (oracle+oracledb://...) or TWO_TASK: python-oracledb, thin by default."""

from dbcpu.config.request import Request
from dbcpu.hosts.cleanup_guard import Guard
from dbcpu.targets.base import Target


def open_target(request: Request, guard: Guard) -> Target:
    """The URL's form and options: ``dbcpu.targets.oracle.address``. Raises UsageError."""
    from sqlalchemy.engine import make_url

    from dbcpu.targets.oracle import address
    from dbcpu.targets.oracle.driver import set_mode
    from dbcpu.targets.oracle.target import OracleTarget

    if request.url:
        url = make_url(request.url)
        has_password = request.password is not None
        where = address.from_url(url.username, url.host, url.port, url.database, url.query, has_password)
    else:
        where = address.from_environment()
    set_mode(where)
    return OracleTarget(where, request.password)
