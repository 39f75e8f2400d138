"""From the store to the document of a campaign: its newest runs, by their figures."""

from collections.abc import Iterable

from dbcpu.analysis.fleet.hosts import FleetHost, Kind, fleet_host
from dbcpu.analysis.fleet.kinds import host_types
from dbcpu.analysis.fleet.twins import unlike_their_twins
from dbcpu.errors import UsageError
from dbcpu.figures import RunFigures
from dbcpu.formatting import work_words
from dbcpu.record import Header
from dbcpu.reports.document import Document
from dbcpu.reports.documents import fleet
from dbcpu.reports.documents.fleet import NotMeasured
from dbcpu.store.campaigns import DONE, Item
from dbcpu.store.database import Store, open_store
from dbcpu.workflows.kept_figures import KeptFigures
from dbcpu.workflows.readable_runs import ReadableRuns


def fleet_document(name: str, store: str | None = None) -> Document:
    """Raises UnknownName: there is no such campaign; UsageError: nothing of it ended yet."""
    with open_store(store, create=False) as opened:
        items = opened.campaigns.items(opened.campaigns.load(name).name)
        ended = [each for each in items if each.state not in ("planned", "running")]
        if not ended:
            raise UsageError(f"no target of campaign {name} has ended yet; look at it by dbcpu fleet status {name}")
        hosts, unit, without = _hosts(opened, [each for each in ended if each.state == DONE and each.run_id])
    failed = [NotMeasured(each.target, each.state, each.why) for each in ended if each.state != DONE]
    return fleet.document(
        name, hosts, unlike_their_twins(hosts), host_types(hosts), [*failed, *without], unit or "Mrows/s"
    )


def _hosts(opened: Store, items: Iterable[Item]) -> tuple[list[FleetHost], str, list[NotMeasured]]:
    runs = ReadableRuns(opened)
    by_run = {each.run_id: each for each in items if each.run_id}
    kept = KeptFigures(opened, runs).of(list(by_run))
    hosts, without, unit = [], [], ""
    for run_id, item in by_run.items():
        header, figures = runs.header(run_id), kept.get(run_id)
        made = _host(item, run_id, header, figures) if header is not None and figures is not None else None
        if made is None:
            without.append(NotMeasured(item.target, item.state, f"run {run_id} has no rate of a single session"))
            continue
        hosts.append(made)
        unit = unit or (figures.text("unit") if figures else "")
    return hosts, unit, without


def _host(item: Item, run_id: str, header: Header, figures: RunFigures) -> FleetHost | None:
    host, plan = header.host, header.plan
    vcpus, cores = figures.value("vcpus"), figures.value("cores")
    kind = Kind(
        cpu_model=host.cpu_model if host else "",
        vcpus=int(vcpus) if vcpus else None,
        cores=int(cores) if cores else None,
        hypervisor=host.hypervisor if host else None,
        database=f"{header.database.kind} {header.database.version}".strip(),
        work=work_words(plan.workload),
    )
    return fleet_host(item.target, run_id, kind, figures, item.tags, plan.repeats)
