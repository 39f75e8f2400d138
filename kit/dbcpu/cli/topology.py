"""``dbcpu topology``: the host as its kernel reports it."""

import click

from dbcpu.cli._options import json_flag


@click.command
@click.option(
    "--host",
    "where",
    metavar="DIR|FILE|ROUTE",
    help="A recorded host (made by shell/capture-host), or a route such as ssh:NAME.  [default: this machine]",
)
@json_flag
def command(where: str | None, as_json: bool) -> None:
    """Show sockets, NUMA nodes, cores, SMT siblings and the number of usable CPUs.

    \b
    Examples: dbcpu topology --host host-db1.tar.gz
              dbcpu topology --host ssh:db1
    """
    from dbcpu.formatting import printable_lines
    from dbcpu.hosts import local, recorded
    from dbcpu.hosts.shell_routes import is_shell_route, open_route
    from dbcpu.hosts.topology import drawing, read_host, usable_vcpus

    if is_shell_route(where or ""):
        with open_route(where or "") as host:
            info = read_host(host)
    else:
        info = read_host(recorded.open_host(where) if where else local.open_host(""))
    if as_json:
        from dbcpu.store import codec

        vcpus, decided_by = usable_vcpus(info)
        usable = {"vcpus": vcpus, "decided_by": decided_by}
        click.echo(codec.dumps({"host": codec.encode(info), "usable": usable}))
    else:
        click.echo(printable_lines(drawing.draw(info)), nl=False)  # the host may be that of others
