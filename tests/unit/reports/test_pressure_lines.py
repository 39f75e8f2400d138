"""CPU pressure in the section of the host."""

from msgspec.structs import replace

from dbcpu.record.rounds import CpuPressure, RunRecord
from dbcpu.reports.documents.run_page import pressure_lines
from plugins import runs


def test_the_highest_level_is_described_by_medians() -> None:
    low = replace(runs.round_of(1, 0), pressure=(CpuPressure("", 1.0, 0.9),))
    rounds = tuple(
        replace(
            runs.round_of(2, order),
            pressure=(CpuPressure("", 2.0, some_s), CpuPressure("/db", 2.0, 0.5, 0.2, (0, 1))),
        )
        for order, some_s in ((1, 0.2), (2, 1.0), (3, 2.1))
    )
    record = RunRecord(runs.record().header, (low, *rounds))
    assert pressure_lines(record) == (
        "CPU pressure at N=2: for 50 % of the time some process of the host waited for a CPU, "
        "for 25 % one of control group /db did and none of its work had one for 10 %",
    )


def test_without_counts_nothing_is_claimed() -> None:
    record = RunRecord(runs.record().header, (replace(runs.round_of(1, 0), pressure=()),))
    assert pressure_lines(record) == ()
