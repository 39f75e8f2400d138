"""Results as JSON files, and docs/benchmarks.md from them: no figure in it is typed by hand."""

import json
import os
import platform
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from msgspec.structs import asdict

from bench.pairs import Result
from dbcpu import __version__
from dbcpu.hosts.local import LocalHost
from dbcpu.hosts.topology import read_host

PROJECT = Path(__file__).resolve().parents[2]
RESULTS = PROJECT / "tests" / "bench" / "results"
DOCUMENT = PROJECT / "docs" / "benchmarks.md"

_HEAD = """# Benchmarks

Everything below was measured by `shell/bench` on the machine that is named with it, and written by
`shell/bench --write-docs` from the JSON files in tests/bench/results, which hold every single figure.

    shell/bench                            all of them; takes a quarter of an hour and the whole machine
    shell/bench --only skew --rounds 9     one, with more rounds
    shell/bench --write-docs               also keep the results, and write this page anew

Contestants take turns within one run, at least five rounds each, and medians are compared: so a slow minute
hits all of them. Other work on the machine still shows: look at the load average, and at how far least and most
are apart, before believing a difference. A figure reads "median (least to most)". A bar is what we hold
ourselves to; it is stated whether it is met, and none of it decides whether a test passes. As root more is
measured: release under real-time priority, and the kernel's trace of the scheduler.
"""


def as_data(name: str, module: Any, result: Result, about: Mapping[str, Any]) -> dict[str, Any]:
    """One result as JSON holds it; ``about`` says where, when and how it was measured."""
    return {
        "bench": name,
        "title": module.TITLE,
        "how": module.HOW,
        **about,
        "bars": [asdict(bar) | {"verdict": bar.verdict} for bar in result.bars],
        "tables": [asdict(table) for table in result.tables],
        "notes": list(result.notes),
        "samples": {key: list(values) for key, values in result.samples.items()},
    }


def machine() -> dict[str, Any]:
    """This machine, without its name."""
    info = read_host(LocalHost())
    return {
        "cpu": info.cpu_model,
        "vcpus": len(info.limits.allowed_cpus),
        "memory_gib": round((info.memory_bytes or 0) / 2**30),
        "hypervisor": info.hypervisor or "none",
        "kernel": ".".join(info.kernel.split("-")[0].split(".")[:2]),
        "python": platform.python_version(),
        "root": os.geteuid() == 0,
        "dbcpu": __version__,
    }


def begin(rounds: int) -> dict[str, Any]:
    """What is known before a bench starts. The load shows whether others used the machine."""
    return {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "rounds": rounds,
        "load_before": round(os.getloadavg()[0], 2),
        "machine": machine(),
    }


def as_text(data: Mapping[str, Any]) -> str:
    """One result for the terminal and for the page: Markdown without its heading."""
    parts = [_when(data)]
    if data["bars"]:
        rows = [
            (bar["what"], _figure(bar), f"{bar['limit']:g} {bar['unit']}".strip(), bar["verdict"])
            for bar in data["bars"]
        ]
        parts.append(markdown_table(("bar", "measured", "at most", ""), rows))
    parts += [markdown_table(table["columns"], table["rows"]) for table in data["tables"]]
    parts += data["notes"]
    return "\n\n".join(parts)


def keep(data: Mapping[str, Any]) -> None:
    """Write one result below tests/bench/results."""
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{data['bench']}.json").write_text(json.dumps(data, indent=1) + "\n", "utf-8")


def page(names: Sequence[str]) -> str:
    """docs/benchmarks.md from the kept results, in the order of ``names``."""
    kept = [RESULTS / f"{name}.json" for name in names]
    results = [json.loads(file.read_text("utf-8")) for file in kept if file.exists()]
    bars = [
        (
            f"[{data['title']}](#{_anchor(data['title'])})",
            bar["what"],
            _figure(bar),
            f"{bar['limit']:g} {bar['unit']}".strip(),
            bar["verdict"],
        )
        for data in results
        for bar in data["bars"]
    ]
    parts = [_HEAD.strip(), "## All bars", markdown_table(("bench", "bar", "measured", "at most", ""), bars)]
    for data in results:
        parts += [f"## {data['title']}", data["how"], as_text(data)]
    return "\n\n".join(parts) + "\n"


def markdown_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns padded, so that it reads as well in a terminal."""
    lines = [tuple(columns), *(tuple(row) for row in rows)]
    widths = [max(len(line[index]) for line in lines) for index in range(len(columns))]
    padded = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) + " |" for line in lines
    ]
    return "\n".join([padded[0], "|" + "|".join("-" * (width + 2) for width in widths) + "|", *padded[1:]])


def _when(data: Mapping[str, Any]) -> str:
    host = data["machine"]
    who = "root" if host["root"] else "an ordinary user"
    return (
        f"Measured {data['at'][:16].replace('T', ' ')} UTC as {who}, {data['rounds']} rounds, {data['took_s']:.0f} s, "
        f"on {host['vcpus']} vCPUs of {host['cpu']} ({host['hypervisor']}), {host['memory_gib']} GiB, "
        f"Linux {host['kernel']}, Python {host['python']}; load average before: {data['load_before']}."
    )


def _figure(bar: Mapping[str, Any]) -> str:
    return "-" if bar["measured"] is None else f"{bar['measured']:.3g} {bar['unit']}".strip()


def _anchor(title: str) -> str:
    kept = "".join(letter for letter in title.lower() if letter.isalnum() or letter in " -")
    return kept.replace(" ", "-")
