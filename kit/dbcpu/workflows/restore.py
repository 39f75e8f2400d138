"""What ``dbcpu restore`` does: put back what a killed run changed, without loading what measures, keeps or shows."""

from dbcpu.config.targets import resolve
from dbcpu.hosts.cleanup_guard import Guard
from dbcpu.hosts.private_servers import remove_leftovers
from dbcpu.targets.base import open_target
from dbcpu.variants._restore import RestoreResult, restore
from dbcpu.variants._settings import parameters_of


def put_back(target: str | None, *, dry_run: bool) -> RestoreResult:
    """Undo what journals of killed runs say; parameters of ``target`` too. Raises ConnectError, UnknownName.

    An embedded server whose driver and guard were killed is ended as well.
    """
    # An embedded target ends them at its start. One that is unknown or does not answer leaves nothing to say it in.
    left = remove_leftovers(dry_run=True)
    restored = _put_back(target, dry_run)
    done = "would be ended" if dry_run else "ended"
    restored.remarks[:0] = [
        f"{done} and removed: the embedded PostgreSQL of a run that was killed, {name}"
        for name in dict.fromkeys((*left, *remove_leftovers(dry_run=dry_run)))
    ]
    return restored


def _put_back(target: str | None, dry_run: bool) -> RestoreResult:
    if target is None:
        return restore(dry_run=dry_run, held=True)
    request = resolve(target)
    with Guard() as guard, open_target(request, guard) as opened:
        return restore(request.name, parameters_of(opened), dry_run=dry_run, held=True)
