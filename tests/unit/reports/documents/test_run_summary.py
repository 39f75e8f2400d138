"""The head of a run says what did the work, and calls only a database one."""

from dataclasses import replace

import pytest

from dbcpu.analysis.explain import explain
from dbcpu.record import Database, RunRecord
from dbcpu.reports.documents.environment import environment
from dbcpu.reports.documents.run_summary import head
from support.builders.record import record, round_of, session, solos


def run_of(kind: str, version: str) -> RunRecord:
    run = record([*solos(), round_of([session(0), session(1)])])
    return replace(run, header=replace(run.header, database=Database(kind, version)))


@pytest.mark.parametrize(
    ("kind", "name", "text"), [("postgresql", "database", "postgresql 1.2 (host)"), ("shell", "program", "1.2 (host)")]
)
def test_what_did_the_work(kind: str, name: str, text: str) -> None:
    run = run_of(kind, "1.2")
    run = replace(run, header=replace(run.header, plan=replace(run.header.plan, target="host")))
    lines = dict(head(run, explain(run)))
    assert lines[name] == text
    assert {"database", "program"} & set(lines) == {name}
    assert environment(run)[2].title == name.capitalize()
