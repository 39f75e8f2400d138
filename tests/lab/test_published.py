"""Published curves are read as they lie in their repositories, and what is said of them is counted rightly."""

import json
from pathlib import Path

import pytest

from lab import published
from lab.__main__ import PUBLISHED
from lab.intervals import wilson


def instance(folder: Path, name: str, threads: int, rates: dict[int, float], model: str = "Example CPU") -> None:
    """One cloud instance with lscpu's nested JSON."""
    fields = [
        {"field": "CPU(s):", "data": str(max(rates))},
        {"field": "Vendor ID:", "data": "x", "children": [
            {"field": "Model name:", "data": model},
            {"field": "Thread(s) per core:", "data": str(threads)},
        ]},
    ]  # fmt: skip
    for kind, text in (
        ("stressngfull", "".join(f"{level},{rate}\n" for level, rate in rates.items())),
        ("lscpu", json.dumps({"lscpu": fields})),
    ):
        file = folder / "data" / name / kind / "stdout"
        file.parent.mkdir(parents=True)
        file.write_text(text, "utf-8")


def server(folder: Path, name: str, text: str) -> None:
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.csv").write_text(text, "utf-8")


def test_instances_are_shown_with_and_without_their_siblings(tmp_path: Path) -> None:
    instance(tmp_path, "aws/two", 2, {n: 100 * (min(n, 8) + 0.3 * max(0, n - 8)) for n in range(1, 17)})
    instance(tmp_path, "azure/full", 1, {n: 100.0 * n for n in range(1, 9)})
    instance(tmp_path, "aws/free", 2, {n: 100.0 * n for n in range(1, 9)})
    instance(tmp_path, "somewhere/unknown", 1, {n: 100.0 * n for n in range(1, 9)})
    instance(tmp_path, "aws/small", 2, {1: 100.0, 2: 130.0})
    instances, servers = published.read(tmp_path)
    assert [each.name for each in instances] == ["aws/free", "aws/two", "azure/full"]
    assert not servers
    counts = published.summary(list(published.claims(instances, (), 1)), ())["instances"]
    shown, hidden, full = (counts[each] for each in (published.SHOWN, published.HIDDEN, published.FULL))
    assert (shown["hosts"], shown["sharing"], shown["fewer"], shown["agrees"], shown["within_5"]) == (2, 1, 0, 1, 1)
    assert (hidden["fewer"], hidden["fewer_right"], hidden["silent"]) == (1, 1, 1)
    assert (full["hosts"], full["fewer"]) == (1, 0)


@pytest.mark.parametrize(
    ("header", "row"),
    [
        ("Num_concurrent_jobs,job_median_run_time (sec),job_mean_run_time (sec),job_stdev_run_time (sec)",
         "{n},{each},{each},0.1"),
        ("Num_concurrent_workers,Oracle_Logical_IOPS", "{n},{rate}"),
        ("Num_concurrent_tasks,run_number,job_run_time (sec),executorRunTime (sec)", "{n},1,{shared},0"),
    ],
    ids=["loop", "SLOB", "Spark"],
)  # fmt: skip
def test_servers_are_read_in_each_of_their_forms(tmp_path: Path, header: str, row: str) -> None:
    lines = [header]
    for n in range(1, 20):
        rate = min(n, 8) - 0.05 * max(0, min(n, 16) - 8)
        lines.append(row.format(n=n, each=30 * n / rate, rate=rate, shared=600 / rate))
    server(tmp_path, "test_RAC54", "\n".join(lines))
    (table,) = published.read(tmp_path)[1]
    assert table.raw_yield == pytest.approx(-0.05)
    found = published.summary(list(published.claims((), [table], 1)), [table.name])["servers"]
    assert [each["shown"] for each in found] == [published.SHOWN, published.HIDDEN]
    assert published.right(found[0])
    assert published.same_sign(found[0])


def test_the_kept_bars_are_met() -> None:
    data = json.loads(PUBLISHED.read_text("utf-8"))
    shown, hidden, full = (data["instances"][each] for each in (published.SHOWN, published.HIDDEN, published.FULL))
    hosts, false = shown["hosts"] + full["hosts"], shown["fewer"] + full["fewer"]
    assert hosts >= 1400
    assert false <= 0.003 * hosts
    assert wilson(hidden["fewer"], hidden["hosts"])[0] >= 0.88
    assert shown["within_5"] >= 0.9 * shown["sharing"]
    servers = [each for each in data["servers"] if each["shown"] == published.SHOWN]
    assert len(servers) >= 12
    assert sum(published.right(each) and published.same_sign(each) for each in servers) >= len(servers) - 1
