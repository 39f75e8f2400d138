"""A run that is given away names nobody, and says the same."""

import inspect
import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Struct
from msgspec.structs import replace

from dbcpu.analysis.explain import explain
from dbcpu.record import header, rounds
from dbcpu.record.rounds import CgroupUse, Clock, Foreign, RunRecord
from dbcpu.store import anonymise, codec, record_file
from plugins import runs
from support.paths import ROOT
from support.record_data import data_of

EXAMPLES = ROOT / "reports" / "examples"
RUNS = [EXAMPLES / name / "record.json.gz" for name in ("emulated-smt", "embedded-2-vcpus")]

# Letters alone, so that a name is no number; capitals and an x, so that it is no word of the kit.
names = st.text("abcdefghijklmnopqrstuvwxyz", min_size=5, max_size=12).map(lambda text: f"X{text}x")


def identifying(name: list[str]) -> RunRecord:
    """A run with ten names wherever a name can stand."""
    whole = runs.full_record()
    header, first = whole.header, whole.rounds[0]
    assert header.host is not None
    host, driver, user, database, path, process, unit, profile, product, parameter = name
    changed = replace(
        header,
        label=f"{host} of {user}",
        plan=replace(header.plan, target=f"postgresql://{user}@{host}/{database}",
                                 vcpus_source=f"cpu.max of /{unit}/{path}", variants=(host, "together"),
                                 parties=(replace(header.plan.parties[0], target=host),)),
        host=replace(
            header.host, hostname=host, kernel=f"6.1.0-{profile}", facts={"tuned_profile": profile, "product": product},
            limits=replace(header.host.limits, quota_source=f"cpu.max of /{unit}/{path}"),
        ),
        database=replace(header.database, version=f"15.4 ({product} 15.4-1)",
                                     parameters={"data_directory": f"/{path}/{database}", "cluster_name": parameter}),
        driver=replace(header.driver, hostname=driver, boot_id=unit),
        notes=(f"smt: two threads on {host}", f"no code, {user}"),
    )  # fmt: skip
    session = replace(
        first.sessions[0], error=f"ORA-01017: user {user} on {host}", cgroup=f"/{unit}/{path}",
        server=replace(first.sessions[0].server, how=f"process 5 here is {process!r}"),
    )  # fmt: skip
    named = replace(
        first, variant=host, sessions=(session, *first.sessions[1:]), foreign=(Foreign(7, process, 1.25, (0,)),),
        error=f"lost {host}", not_sampled=f"ssh {user}@{host} was refused",
        cgroups=(CgroupUse(f"/{unit}/{path}", 2.0, 10, 3, 0.5),),
        clocks=(Clock(f"ssh {host}", 0.1, 0.01),),
    )  # fmt: skip
    return RunRecord(changed, (named, *whole.rounds[1:]))


def numbers(value: Any) -> list[object]:
    if isinstance(value, dict):
        return [number for each in value.values() for number in numbers(each)]
    if isinstance(value, list):
        return [number for each in value for number in numbers(each)]
    return [value] if isinstance(value, int | float) else []


@settings(max_examples=40)
@given(st.lists(names, min_size=10, max_size=10, unique=True))
def test_no_name_is_left_and_no_number_is_changed(given_names: list[str]) -> None:
    run = identifying(given_names)
    data = data_of(anonymise.anonymised(run))
    text = json.dumps(data)
    for each in given_names:
        assert each not in text
    assert numbers(data) == numbers(data_of(run))
    assert codec.from_data(data, "here") == anonymise.anonymised(run)


def test_a_name_is_the_same_one_everywhere() -> None:
    run = identifying([f"Xname{letter}x" for letter in "abcdefghij"])
    run = replace(
        run,
        header=replace(run.header, driver=replace(run.header.driver, hostname="Xnameax")),
    )
    given_away = anonymise.anonymised(run)
    assert given_away.header.host is not None
    assert given_away.header.host.hostname == given_away.header.driver.hostname == "host-1"
    plan = given_away.header.plan
    assert plan.parties[0].target == plan.variants[0] == given_away.rounds[0].variant
    assert plan.variants[1] == "together"
    assert given_away.rounds[0].sessions[0].cgroup == given_away.rounds[0].cgroups[0].path == "/group-1/group-2"
    assert given_away.header.host.limits.quota_source == "cpu.max of /group-1/group-2"
    assert given_away.rounds[0].sessions[0].error == "ORA-01017 (text left out)"
    assert given_away.header.notes == ("smt: (text left out)", "(text left out)")


def test_what_names_nobody_stays() -> None:
    run = runs.full_record()
    host = run.header.host
    assert host is not None
    run = replace(
        run,
        header=replace(
            run.header,
            plan=replace(run.header.plan, target="embedded"),
            database=replace(
                run.header.database, parameters={"jit": "off", "work_mem": "4MB", "empty": "", "platform": "AIX"}
            ),
        ),
        rounds=(replace(run.rounds[0], foreign=(Foreign(3, "kworker/0:1", 1.0), Foreign(4, "java", 1.0))),),
    )
    kept = anonymise.anonymised(run)
    assert kept.header.plan.target == "embedded"
    assert kept.header.database.parameters == {"jit": "off", "work_mem": "4MB", "empty": "", "platform": "AIX"}
    assert [each.command for each in kept.rounds[0].foreign] == ["kworker/0:1", "java"]


@pytest.mark.parametrize("file", RUNS, ids=lambda file: file.parent.name)
def test_the_analysis_says_the_same(file: Path) -> None:
    run = record_file.read(file)
    before, after = explain(run), explain(anonymise.anonymised(run))
    # A command that measures more of the run is only for who knows its host.
    assert after.verdict == re.sub(r"on its host: `dbcpu more [^`]+`", "on that host", before.verdict)
    assert after.levels == before.levels
    assert [(one.ordinal, one.slowdown, one.cause) for one in after.sessions] == [
        (one.ordinal, one.slowdown, one.cause) for one in before.sessions
    ]
    assert [one.code for one in after.findings] == [one.code for one in before.findings]


def test_every_text_of_the_record_has_its_rule() -> None:
    classes = [
        cls
        for module in (header, rounds)
        for _, cls in inspect.getmembers(module, inspect.isclass)
        if issubclass(cls, Struct)
    ]
    assert RunRecord in classes
    for cls in classes:
        assert set(anonymise.texts_of(cls)) == set(anonymise.RULES.get(cls, {})), cls.__name__
