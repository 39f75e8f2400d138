"""The lessons of docs/simulating.md are what the commands print."""

import re

import pytest
from click.testing import CliRunner

from dbcpu.cli import group
from support.paths import ROOT

LESSONS = re.findall(
    r"^    \$ dbcpu (simulate .+)\n((?:     .+\n)+)", (ROOT / "docs" / "simulating.md").read_text("utf-8"), re.MULTILINE
)


def test_there_are_five() -> None:
    assert len(LESSONS) == 5


@pytest.mark.parametrize(("command", "quoted"), LESSONS, ids=[command for command, _ in LESSONS])
def test_a_lesson_is_what_its_command_prints(command: str, quoted: str) -> None:
    printed = CliRunner().invoke(group, [*command.split(), "--no-save"], catch_exceptions=False).stdout
    lines = {" ".join(line.split()) for line in printed.splitlines()}
    for line in quoted.splitlines():
        assert " ".join(line.split()) in lines
