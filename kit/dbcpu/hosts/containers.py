"""A container as a host: through the client of Kubernetes, Docker or Podman, which uses the user's own configuration.

What is started there is in the container's PID namespace, as the database's processes are.
Sources: kubectl exec, docker-exec(1), podman-exec(1); Kubernetes, "Object Names and IDs"; moby, daemon/names
"""

import re

from dbcpu.errors import UsageError
from dbcpu.hosts.transport import Reasons, Transport

_LABEL = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
_POD = re.compile(rf"(?P<namespace>{_LABEL})/(?P<pod>(?=.{{1,253}}(?:/|$)){_LABEL}(?:\.{_LABEL})*)"
                  rf"(?:/(?P<container>{_LABEL}))?")  # fmt: skip
_CONTAINER = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,254}")
_NO_SHELL = "it has no sh, as images without a shell (distroless) do; run dbcpu on its node, or --host sql"
_IN_ANY: Reasons = (
    ('exec: "sh"', _NO_SHELL),
    ("executable file `sh` not found", _NO_SHELL),
    ("executable file not found", _NO_SHELL),
    ("sh: no such file", _NO_SHELL),
)
_KUBERNETES: Reasons = (
    *_IN_ANY,
    ("namespaces \"", "its namespace does not exist; kubectl get namespaces lists them"),
    ("(notfound)", "there is no such pod in its namespace; kubectl get pods -n {namespace} lists them"),
    ("container not found", "its container does not run; kubectl get pod {pod} -n {namespace} says why"),
    ("is not valid for pod", "the pod has no container of that name; kubectl get pod {pod} -n {namespace} lists them"),
    ("(forbidden)", "you may not start programs in it; the right is `create` on `pods/exec` of its namespace"),
    ("completed pod", "its pod has ended; name one that runs"),
    ("unauthorized", "the cluster does not accept your login; kubectl must work by itself first"),
    ("you must be logged in", "the cluster does not accept your login; kubectl must work by itself first"),
    ("was refused", "the cluster is not reached; is kubectl's context right (kubectl config current-context)?"),
    ("connection refused", "the cluster is not reached; is kubectl's context right (kubectl config current-context)?"),
    ("unable to connect to the server", "the cluster is not reached; is kubectl's context right "
        "(kubectl config current-context)?"),
    ("no configuration has been provided", "kubectl has no cluster; set its context or KUBECONFIG"),
)  # fmt: skip
_DOCKER: Reasons = (
    *_IN_ANY,
    ("no such container", "there is no such container; {program} ps lists those that run"),
    ("is not running", "it does not run; start it"),
    ("is restarting", "it is just being restarted; {program} ps shows its state"),
    ("is paused", "it is paused; unpause it"),
    ("state improper", "it does not run; start it"),
    ("permission denied", "you may not use {program} here; docs/containers.md says what it takes"),
    ("cannot connect to", "{program}'s service is not reached; does it run, and is the context right?"),
    ("unable to connect to", "{program}'s service is not reached; does it run, and is the context right?"),
)


def kubernetes(where: str) -> Transport:
    """``where``: NAMESPACE/POD[/CONTAINER], in the cluster of kubectl's current context. Raises UsageError."""
    parts = _POD.fullmatch(where)
    if parts is None:
        raise UsageError(f"{where!r} is no pod; write k8s:NAMESPACE/POD or k8s:NAMESPACE/POD/CONTAINER")
    container = ("-c", parts["container"]) if parts["container"] else ()
    return Transport(
        name=f"k8s:{where}",
        over="k8s",
        argv=("kubectl", "exec", "-i", "-n", parts["namespace"], parts["pod"], *container, "--", "sh", "-s"),
        reasons=_filled(_KUBERNETES, namespace=parts["namespace"], pod=parts["pod"]),
        missing="install kubectl, or leave --host away",
    )


def docker(where: str) -> Transport:
    """``where``: name or id of a container of Docker. Raises UsageError."""
    return _engine("docker", where)


def podman(where: str) -> Transport:
    """``where``: name or id of a container of Podman. Raises UsageError."""
    return _engine("podman", where)


def _engine(program: str, where: str) -> Transport:
    if not _CONTAINER.fullmatch(where):
        raise UsageError(f"{where!r} is no container; write {program}:NAME or {program}:ID")
    return Transport(
        name=f"{program}:{where}",
        over=program,
        argv=(program, "exec", "-i", "--", where, "sh", "-s"),
        reasons=_filled(_DOCKER, program=program),
        missing=f"install {program}, or leave --host away",
    )


def _filled(reasons: Reasons, **words: str) -> Reasons:
    return tuple((mark, reason.format(**words)) for mark, reason in reasons)
