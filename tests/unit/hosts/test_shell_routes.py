"""Which command each form of --host starts, what never reaches one, and what is said where it fails."""

import os
import re
import shutil
from pathlib import Path

import pytest

from dbcpu.errors import HostError, UsageError
from dbcpu.hosts.local import LocalHost
from dbcpu.hosts.shell_routes import in_words, is_shell_route, open_route, transport_of
from dbcpu.hosts.topology import read_topology
from support.doubles.container_clients import client
from support.driving import until

COMMANDS = {
    "k8s:prod/db-0": ("kubectl", "exec", "-i", "-n", "prod", "db-0", "--", "sh", "-s"),
    "k8s:prod/db-0.eu/postgres": (
        "kubectl", "exec", "-i", "-n", "prod", "db-0.eu", "-c", "postgres", "--", "sh", "-s",
    ),
    "docker:db_1": ("docker", "exec", "-i", "--", "db_1", "sh", "-s"),
    "podman:0a1b2c": ("podman", "exec", "-i", "--", "0a1b2c", "sh", "-s"),
    "exec:lxc-attach -n 'my db' -- sh -s": ("lxc-attach", "-n", "my db", "--", "sh", "-s"),
}  # fmt: skip


@pytest.fixture
def clients(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "clients"
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    return folder


@pytest.mark.parametrize("route", COMMANDS)
def test_each_form_starts_one_command_without_a_shell(route: str) -> None:
    assert transport_of(route).argv == COMMANDS[route]


@pytest.mark.parametrize("route", COMMANDS)
def test_the_script_is_run_by_what_the_command_reaches(clients: Path, route: str) -> None:
    program, *expected = COMMANDS[route]
    client(clients, program, expected)
    with open_route(route) as host:
        assert host.read("/proc/sys/kernel/random/boot_id") == LocalHost().read("/proc/sys/kernel/random/boot_id")
        assert read_topology(host) == read_topology(LocalHost())
        assert host.over == route.partition(":")[0]
        assert len(host.own_pids) == 1, "its parent is a process of somebody else's"
        pid = host.own_pids[0]
        assert Path(f"/proc/{pid}").exists()
    until(lambda: not Path(f"/proc/{pid}").exists(), "the far end has ended")


@pytest.mark.parametrize(
    "route",
    [
        "k8s:",
        "k8s:prod",
        "k8s:prod/",
        "k8s:/db-0",
        "k8s:-n/db-0",
        "k8s:prod/-x",
        "k8s:prod/db-0/",
        "k8s:prod/db-0/-c",
        "k8s:prod/db-0/a/b",
        "k8s:prod/--kubeconfig=x",
        "k8s:Prod/db",
        "k8s:prod/db 0",
        "k8s:prod/db-0\n",
        "k8s:prod/db_0",
        f"k8s:prod/{'x' * 64}",
        f"k8s:prod/{'.'.join(['x' * 60] * 5)}",
        "docker:",
        "docker:-x",
        "docker:--help",
        "docker:.x",
        "docker:a b",
        "docker:a;id",
        "docker:a$(id)",
        "docker:a\n",
        "docker:a/b",
        "podman:",
        "podman:--privileged",
        "podman:-l",
        "exec:",
        "exec: ",
        "exec:'a",
        "exec:a\nb",
        "exec:''",
        "ssh:-oProxyCommand=x",
        "lxc:a",
        "k8s",
        "docker",
    ],
)
def test_what_is_no_name_never_reaches_a_command(route: str) -> None:
    with pytest.raises(UsageError, match=r"write (one of )?(k8s|docker|podman|exec|ssh):?"):
        transport_of(route)


def test_a_route_is_known_by_its_scheme() -> None:
    assert is_shell_route("k8s:prod/db-0")
    assert not any(map(is_shell_route, ("auto", "sql", "host.tar.gz", "lxc:a", "docker")))


SAID = [
    ("k8s:prod/db-0", 'Error from server (NotFound): pods "db-0" not found', r"no such pod .* get pods -n prod lists"),
    ("k8s:prod/db-0", 'Error from server (NotFound): namespaces "prod" not found', "its namespace does not exist"),
    (
        "k8s:prod/db-0",
        'error: unable to upgrade connection: container not found ("postgres")',
        "its container does not",
    ),
    ("k8s:prod/db-0/x", "Error from server (BadRequest): container x is not valid for pod db-0", "has no container of"),
    (
        "k8s:prod/db-0",
        'Error from server (Forbidden): pods "db-0" is forbidden: User "eve" cannot create resource '
        '"pods/exec" in API group "" in the namespace "prod"',
        "`create` on `pods/exec`",
    ),
    (
        "k8s:prod/db-0",
        "error: cannot exec into a container in a completed pod; current phase is Succeeded",
        "has ended",
    ),
    ("k8s:prod/db-0", "error: You must be logged in to the server (Unauthorized)", "does not accept your login"),
    (
        "k8s:prod/db-0",
        "The connection to the server localhost:8080 was refused - did you specify the right host or port?",
        "the cluster is not reached",
    ),
    ("k8s:prod/db-0", "Unable to connect to the server: dial tcp: lookup k8s.invalid: no such host", "is not reached"),
    (
        "k8s:prod/db-0",
        "error: Internal error occurred: Internal error occurred: error executing command in container: "
        'failed to exec in container: failed to start exec "0a": OCI runtime exec failed: exec failed: unable to start '
        'container process: exec: "sh": executable file not found in $PATH: unknown',
        "it has no sh",
    ),
    ("docker:db", "Error response from daemon: No such container: db", "there is no such container; docker ps lists"),
    ("docker:db", "Error response from daemon: container 0a1b is not running", "it does not run; start it"),
    (
        "docker:db",
        "Error response from daemon: Container db is paused, unpause the container before exec",
        "unpause it",
    ),
    (
        "docker:db",
        'OCI runtime exec failed: exec failed: unable to start container process: exec: "sh": executable file '
        "not found in $PATH: unknown",
        "it has no sh",
    ),
    (
        "docker:db",
        "permission denied while trying to connect to the Docker daemon socket at unix:///var/run/docker.sock",
        "you may not use docker here",
    ),
    (
        "docker:db",
        "Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?",
        "docker's service is not reached",
    ),
    ("podman:db", 'Error: no container with name or ID "db" found: no such container', "podman ps lists"),
    ("podman:db", "Error: can only create exec sessions on running containers: container state improper", "start it"),
    (
        "podman:db",
        "Error: crun: executable file `sh` not found in $PATH: No such file or directory: OCI runtime attempted "
        "to invoke a command that was not found",
        "it has no sh",
    ),
]


@pytest.mark.parametrize("stream", ["stderr", "stdout"])
@pytest.mark.parametrize(("route", "said", "reason"), SAID)
def test_what_a_client_says_becomes_one_sentence(
    clients: Path, route: str, said: str, reason: str, stream: str
) -> None:
    program, *expected = transport_of(route).argv
    client(clients, program, expected, told=said)
    if stream == "stdout":
        script = (clients / program).read_text().replace(" >&2; exit 1\n", "; exit 1\n")
        (clients / program).write_text(script)
    with pytest.raises(HostError, match=rf"^{re.escape(route)} cannot be reached: [^\n]*{reason}[^\n]*$"):
        open_route(route)


def test_what_is_not_foreseen_is_passed_on(clients: Path) -> None:
    program, *expected = transport_of("docker:db").argv
    client(clients, program, expected, told="Error: something new\nhappened")
    with pytest.raises(HostError, match=r"^the connection to docker:db ended: happened$"):
        open_route("docker:db")


@pytest.mark.parametrize("route", COMMANDS)
def test_a_machine_without_the_program_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, route: str) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    program = COMMANDS[route][0]
    with pytest.raises(HostError, match=rf"cannot be reached: there is no {program} on this machine; "):
        open_route(route)


def test_a_program_that_may_not_be_started_is_told(tmp_path: Path) -> None:
    (tmp_path / "plain").write_text("echo\n")
    with pytest.raises(HostError, match=r"^exec:plain cannot be reached: .*plain could not be started \(Permission"):
        open_route(f"exec:{tmp_path}/plain")


def test_arguments_of_an_own_command_are_never_shown(tmp_path: Path) -> None:
    with pytest.raises(HostError) as told:
        open_route("exec:false --password hunter2")
    assert str(told.value) == "the connection to exec:false ended: false gave no reason"
    with open_route("exec:env SECRET=hunter2 sh -s") as host:
        assert (host.name, in_words(host)) == ("exec:env", "through a command of your own, env")


@pytest.mark.parametrize(
    "command", ["sh", "sh -s", "dash -s", "bash", "bash -s", "busybox sh -s", "env -i PATH=/usr/bin:/bin sh -s"]
)
def test_any_shell_takes_the_script_from_its_input(command: str) -> None:
    """A shell may read ahead: nothing is sent before its first command has answered."""
    if shutil.which(command.split()[0]) is None:
        pytest.skip(f"this machine has no {command.split()[0]}")
    with open_route(f"exec:{command}") as host:
        assert host.read("/proc/sys/kernel/ostype") == "Linux\n"
        assert host.read_all(["/proc/uptime", "/proc/none"]).keys() == {"/proc/uptime"}


def test_a_command_of_several_processes_ends_as_a_whole(tmp_path: Path) -> None:
    """One that goes on when its input ends is ended with all that it started."""
    script = tmp_path / "stays"
    script.write_text(f"#!/bin/sh\nsh -s\nsleep 600 & echo $! >{tmp_path}/child\nwait\n")
    script.chmod(0o755)
    with open_route(f"exec:{script}") as host:
        pid = host.pid
    assert not Path(f"/proc/{pid}").exists()
    child = (tmp_path / "child").read_text().strip()
    until(lambda: not Path(f"/proc/{child}").exists(), "its child has ended")


def test_the_driver_keeps_its_own_priority(clients: Path) -> None:
    """The far end asks for real-time priority for itself while it polls; its parent here is this process."""
    with open_route("exec:sh -s") as host:
        host.watch([f"/proc/{os.getpid()}"])
        host.poll(False)
        assert os.sched_getscheduler(os.getpid()) == os.SCHED_OTHER
