"""What docs/nightly.md gives to copy is taken by those it is for: systemd, cron, Prometheus."""

import re
import shutil
import subprocess
from datetime import datetime
from pathlib import Path

import pytest

from support.paths import ROOT

TEXT = (ROOT / "docs" / "nightly.md").read_text("utf-8")
SHELL = (ROOT / "shell" / "nightly").read_text("utf-8")
NAMES = ("dbcpu-nightly.service", "dbcpu-nightly.timer", "dbcpu-failed@.service")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)


def entries(unit: str) -> dict[str, str]:
    return dict(line.split("=", 1) for line in unit.splitlines() if "=" in line and not line.startswith("#"))


def test_the_units_stand_under_their_names_and_fit_each_other() -> None:
    service, timer, failed = map(entries, blocks("ini"))
    assert all(f"/etc/systemd/system/{name}`" in TEXT for name in NAMES)
    assert (service["OnFailure"], failed["Type"]) == ("dbcpu-failed@%N.service", "oneshot")
    assert service["Type"] == "oneshot"
    assert "SuccessExitStatus" not in service, "a night with findings has to be seen"
    assert (timer["OnCalendar"], timer["Persistent"]) == ("Mon..Fri 04:30", "false")


def test_systemd_takes_the_units(tmp_path: Path) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not installed")
    for name, unit in zip(NAMES, blocks("ini"), strict=True):
        (tmp_path / name).write_text(unit.replace("/opt/dbcpu/", f"{ROOT}/"))
    checked = subprocess.run(
        ["systemd-analyze", "verify", *(str(tmp_path / name) for name in NAMES)],
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert (checked.returncode, checked.stderr) == (0, "")


def test_the_night_is_outside_of_the_databases_maintenance_windows() -> None:
    (line,) = re.findall(r"^(\d+ \d+ \* \* \d-\d)  /opt/dbcpu/shell/nightly", TEXT, re.MULTILINE)
    minute, hour, _, _, days = line.split()
    first, last = (int(day) for day in days.split("-"))
    at_h = int(hour) + int(minute) / 60
    # Oracle's defaults: 22:00 for 4 hours on weekdays, 06:00 for 20 hours on Saturday (6) and Sunday (7).
    windows = [(day * 24 + 22, day * 24 + 26) for day in range(1, 6)]
    windows += [(day * 24 + 6, day * 24 + 26) for day in (6, 7)]
    windows += [(start - 7 * 24, end - 7 * 24) for start, end in windows]
    nights = [day * 24 + at_h for day in range(first, last + 1)]
    assert len(nights) == 5
    assert not [night for night in nights for start, end in windows if start <= night < end]


def test_the_alert_rules_ask_for_metrics_that_a_night_writes() -> None:
    (rules,) = blocks("yaml")
    written = set(re.findall(r"^# TYPE (\w+) gauge$", SHELL, re.MULTILINE))
    expressions = re.findall(r"^ {8}expr: (.+)$", rules, re.MULTILINE)
    assert len(expressions) == rules.count("- alert: ") == rules.count("summary: ") == 4
    asked = {name for each in expressions for name in re.findall(r"dbcpu_\w+", each)}
    names = ("busy_host", "exit_code", "finished_timestamp_seconds", "too_busy")
    assert asked == written == {f"dbcpu_nightly_{name}" for name in names}
    for each in expressions:
        plain = re.sub(r"dbcpu_\w+|time\(\)", "1", each)
        assert re.fullmatch(r"[\d\s.*+-]+(!=|>)[\d\s.*+-]+", plain), each
    labels = set(re.findall(r"\$labels\.(\w+)", rules))
    assert labels == {"target"}


@pytest.mark.parametrize(("code", "posts"), [("1", True), ("4", False)])
def test_the_hook_of_the_documentation_sends_the_message_whole(tmp_path: Path, code: str, posts: bool) -> None:
    (script,) = (each for each in blocks("sh") if "DBCPU_NIGHT_EXIT" in each)
    for name in ("mail", "curl", "jq"):
        stand_in = tmp_path / name
        # jq gets the message as an argument, the others on standard input.
        stand_in.write_text(f'#!/bin/sh\nprintf "%s\\n" "$*" >"$0.said"\n[ {name} = jq ] || cat >>"$0.said"\n')
        stand_in.chmod(0o755)
    (tmp_path / "hook").write_text(script)
    message = 'box: "quoted" $(touch x) `y`\nbox: report in /r'
    environment = {"PATH": f"{tmp_path}:/usr/bin:/bin", "DBCPU_NIGHT_EXIT": code, "DBCPU_NIGHT_TARGET": "box"}
    subprocess.run(["sh", str(tmp_path / "hook")], input=message, text=True, check=True, env=environment, cwd=tmp_path)
    said = {file.name: file.read_text() for file in tmp_path.glob("*.said")}
    assert said["mail.said"] == f"-s dbcpu box: exit {code} dba@example.org\n{message}\n"
    assert ("curl.said" in said) is ("jq.said" in said) is posts
    assert not posts or f"--arg text dbcpu box: exit 1: {message} " in said["jq.said"]
    assert not (tmp_path / "x").exists()


def test_the_silence_alert_outlasts_a_weekend() -> None:
    (days,) = re.findall(r"> (\d+) \* 86400", TEXT)
    friday, monday = datetime(2026, 11, 20, 4, 30), datetime(2026, 11, 23, 4, 30)
    assert int(days) > (monday - friday).days
