"""Every form of ``--host`` that leads to a shell on another host, by its scheme."""

from collections.abc import Callable
from typing import NamedTuple

from dbcpu.errors import UsageError
from dbcpu.hosts import containers, own_command, ssh
from dbcpu.hosts.shell_host import ShellHost
from dbcpu.hosts.transport import Transport


class Scheme(NamedTuple):
    """``form``: as the user writes it. ``words``: how a run says that it came this way; ``{}`` is where to."""

    form: str
    transport: Callable[[str], Transport]
    words: str


SCHEMES = {
    "ssh": Scheme("ssh:[USER@]HOST[:PORT]", ssh.transport, "over ssh from {}"),
    "k8s": Scheme("k8s:NAMESPACE/POD[/CONTAINER]", containers.kubernetes, "through kubectl exec from {}"),
    "docker": Scheme("docker:CONTAINER", containers.docker, "through docker exec from {}"),
    "podman": Scheme("podman:CONTAINER", containers.podman, "through podman exec from {}"),
    "exec": Scheme("exec:COMMAND", own_command.transport, "through a command of your own, {}"),
}


def is_shell_route(route: str) -> bool:
    """Whether it has the form SCHEME:WHERE of one of ``SCHEMES``."""
    scheme, colon, _ = route.partition(":")
    return bool(colon) and scheme in SCHEMES


def transport_of(route: str) -> Transport:
    """Raises UsageError where the route is not understood."""
    scheme, _, where = route.partition(":")
    if not is_shell_route(route):
        raise UsageError(f"{route!r} leads to no shell; write one of {', '.join(one.form for one in SCHEMES.values())}")
    return SCHEMES[scheme].transport(where)


def open_route(route: str) -> ShellHost:
    """Connects. Raises HostError, UsageError."""
    return ShellHost(transport_of(route))


def in_words(host: ShellHost) -> str:
    """How its files are reached: over ssh from db1."""
    return SCHEMES[host.over].words.format(host.name.partition(":")[2])
