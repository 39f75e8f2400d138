"""What ``dbcpu restore`` does: put back what a killed run changed, without loading what measures, keeps or shows."""

from dbcpu.config.targets import resolve
from dbcpu.hosts.cleanup_guard import Guard
from dbcpu.targets.base import open_target
from dbcpu.variants._restore import RestoreResult, restore
from dbcpu.variants._settings import parameters_of


def put_back(target: str | None, *, dry_run: bool) -> RestoreResult:
    """Undo what journals of killed runs say; parameters of ``target`` too. Raises ConnectError, UnknownName."""
    if target is None:
        return restore(dry_run=dry_run, held=True)
    request = resolve(target)
    with Guard() as guard, open_target(request, guard) as opened:
        return restore(request.name, parameters_of(opened), dry_run=dry_run, held=True)
