"""The keeping of real runs; measuring them is ``shell/lab real``, by hand."""

import json
from pathlib import Path

from lab.real import BUSY, QUIET, Measured, asked, merged, section

FINE = Measured(("sqlite", "--sessions", "1,2"), 3.0, "good", ())
BAD = Measured(("shell",), 2.0, "bad", ("the verdict says one thing, the table another",))
FAILED = Measured(("shell",), 60.0, "", (), "every session failed")


def test_runs_of_a_busy_machine_leave_those_of_a_quiet_one(tmp_path: Path) -> None:
    file = tmp_path / "real.json"
    file.write_text(json.dumps({"dbcpu": "0", **merged(file, QUIET, 1, [FINE])}))
    kept = merged(file, BUSY, 2, [FINE, BAD, FAILED])
    assert [kept[machine]["seed"] for machine in (QUIET, BUSY)] == [1, 2]
    rows = [line for line in section(kept).splitlines() if line.startswith(("| busy", "| quiet"))]
    assert rows[0].startswith("| busy | 50.0 % ") and rows[0].endswith("| bad 1, good 1 | 1 |")
    assert rows[1].startswith("| quiet | 0.0 % ") and rows[1].endswith("| good 1 | 0 |")


def test_what_is_measured_depends_on_seed_and_number_alone() -> None:
    assert asked(3, 7) == asked(3, 7)
    assert len({asked(number, 7) for number in range(30)}) > 20
