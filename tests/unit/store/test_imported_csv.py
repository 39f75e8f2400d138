"""Times and rates in CSV become a record that claims nothing that the file does not say."""

import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dbcpu.analysis.comparison.comparability import other_work
from dbcpu.analysis.comparison.compare import compare_sides
from dbcpu.analysis.comparison.measured_run import MeasuredSide, measured
from dbcpu.analysis.explain import explain
from dbcpu.errors import DbcpuError, RecordFormatError, UsageError
from dbcpu.record.rounds import RunRecord
from dbcpu.reports.documents import run as of_run
from dbcpu.reports.formats import json as as_json
from dbcpu.reports.formats import markdown, table
from dbcpu.store import codec
from dbcpu.store.anonymise import anonymised
from dbcpu.store.imported_csv import RunFacts, from_text
from support.paths import ROOT
from support.record_data import data_of

TIMES = """# label: loops, 2 cores
# cpus: 4
# cores: 2
# model: Xeon X
# source: measured in a cellar
n,repeat,session,seconds
1,1,a,10
1,2,a,10.25
2,1,a,10
2,1,b,10.5
3,1,a,10
3,1,b,15
3,1,c,15.5
"""
RATES = """# unit: loops/s
n,repeat,rate
1,1,12
1,2,12.5
2,1,24
4,1,32
"""


def record(text: str = TIMES, facts: RunFacts | None = None) -> RunRecord:
    return from_text(text, "box.csv", facts)[0]


def seconds(found: RunRecord) -> list[list[float]]:
    return [[one.executions[0].elapsed_s for one in each.sessions] for each in found.rounds]


def printed(found: RunRecord) -> str:
    document = of_run.document(found, explain(found))
    return "\n".join((table.render(document), markdown.render(document), as_json.render(document)))


# --- times --------------------------------------------------------------------------------------


def test_a_round_has_its_sessions_which_start_together() -> None:
    found = record()
    assert seconds(found) == [[10], [10.25], [10, 10.5], [10, 15, 15.5]]
    assert [(each.level, each.repeat, each.order) for each in found.rounds] == [
        (1, 0, 0),
        (1, 1, 1),
        (2, 0, 2),
        (3, 0, 3),
    ]
    assert {one.executions[0].start_s for each in found.rounds for one in each.sessions} == {0.0}
    assert any("start together at 0" in note for note in found.header.notes)


def test_what_the_file_says_is_kept_and_nothing_else_is_known() -> None:
    header = record().header
    assert (header.label, header.plan.vcpus, header.plan.cores) == ("loops, 2 cores", 4, 2)
    assert header.facts == {"model": "Xeon X", "source": "measured in a cellar"}
    work = header.plan.workload
    assert (work.n, work.size, work.sql, work.sql_hash, work.answer) == (None, "", None, None, None)
    assert (header.host, header.started_at, header.database.kind) == (None, "", "")
    sessions = [one for each in record().rounds for one in each.sessions]
    assert {(one.answer_ok, one.connect_s, one.cpu_s, one.server.pid) for one in sessions} == {(None, None, None, None)}
    assert not any(one.server.verified for one in sessions)


def test_options_count_more_than_the_file() -> None:
    header = record(
        TIMES, RunFacts(cpus=8, label="other", kind="stress-ng", workload="div16", date="2026-01-31")
    ).header
    assert (header.plan.vcpus, header.plan.cores, header.label) == (8, 2, "other")
    assert (header.database.kind, header.plan.workload.name, header.started_at) == ("stress-ng", "div16", "2026-01-31")


def test_cores_that_are_known_reach_the_analysis() -> None:
    analysis = explain(record())
    assert (analysis.vcpus, analysis.cores) == (4, 2)
    level = next(each for each in analysis.levels if each.level == 3)
    assert level.max_over_min == pytest.approx(1.55)
    assert level.slow == 2


def test_pages_say_once_where_it_is_from_and_invent_nothing() -> None:
    document = of_run.document(record(), explain(record()))
    text = table.render(document)
    assert text.count("imported: times only") == 1
    assert "Xeon X, 4 vCPUs on 2 cores" in text
    assert "executions/min" in text
    for invented in ("Mrows", "None", "n = ", "kernel", "1 execution each", "doctor"):
        assert invented not in text, invented


# --- rates --------------------------------------------------------------------------------------


def test_a_rate_is_the_throughput_of_its_round() -> None:
    analysis = explain(record(RATES))
    assert {each.level: each.throughput for each in analysis.levels} == pytest.approx({1: 12.25, 2: 24, 4: 32})
    assert analysis.unit == "loops/s"
    assert "loops/s" in printed(record(RATES))


def test_nothing_of_single_sessions_is_claimed_from_a_rate() -> None:
    found = record(RATES, RunFacts(cpus=4, cores=2))
    assert [each.shares_known for each in found.rounds] == [True, True, False, False]
    analysis = explain(found)
    for level in analysis.levels[1:]:
        values = (level.max_over_min, level.cv, level.slow, level.gap_ratio, level.slowdown_max, level.slower)
        assert values == (None,) * len(values)
        assert level.even == "undecided"
    assert not [each for each in analysis.sessions if each.level > 1 and each.slowdown is not None]
    assert analysis.capacity is not None
    assert analysis.capacity.even_up_to == 1
    assert "every session" not in analysis.verdict.lower()
    assert "max/min" not in analysis.verdict
    assert "only total rates are known" in analysis.verdict
    assert of_run.document(found, analysis).front.tone == "unknown"


def test_equal_parts_do_not_make_the_noise_smaller() -> None:
    text = "n,repeat,rate\n1,1,10\n1,2,11\n1,3,9\n" + "".join(f"2,{repeat},20\n" for repeat in range(20))
    known = explain(record(text, RunFacts(cpus=4, cores=4))).reference
    alone = explain(record(text.partition("2,0")[0], RunFacts(cpus=4, cores=4))).reference
    assert known is not None
    assert alone is not None
    assert known.spread == pytest.approx(alone.spread)


@pytest.mark.parametrize("rate", ["1e-9", "0.002", "3", "4e11", "1e12"])
def test_rates_of_any_size_are_kept(rate: str) -> None:
    found = record(f"n,repeat,rate\n1,1,{rate}\n")
    assert codec.from_data(data_of(found), "it") == found
    assert explain(found).levels[0].throughput == pytest.approx(float(rate))


# --- the form -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "changed",
    [
        TIMES.replace("\n", "\r\n"),
        "\ufeff" + TIMES,
        TIMES.replace(",", ";").replace(".", ","),
        TIMES.replace(",", "\t"),
        TIMES.replace("n,repeat,session,seconds", ' N , "Repeat" , Session,SECONDS'),
        TIMES.replace("2,1,a,10\n", "\n# a remark\n2,1,a,10\n,,,\n"),
    ],
    ids=["CRLF", "BOM", "semicolons", "tabs", "capitals", "gaps"],
)
def test_spellings_of_csv(changed: str) -> None:
    assert seconds(record(changed)) == seconds(record())


def test_unknown_columns_are_named_once() -> None:
    _, warning = from_text("n,repeat,rate,host,mood\n1,1,2,a,b\n", "box.csv")
    assert warning == "box.csv: passed over columns 'host' and 'mood'"
    assert from_text(RATES, "box.csv")[1] == ""
    many = ",".join(f"column{number}" for number in range(90))
    assert from_text(f"n,repeat,rate,{many}\n1,1,2\n", "box.csv")[1].endswith("'column4' and 85 more")


def test_a_key_without_a_meaning_is_kept_and_named_with_the_one_that_was_probably_meant() -> None:
    text = "# cpu: 16\n# source: a paper\n# weather: good\n# a remark\nn,repeat,rate\n1,1,2\n"
    made, warning = from_text(text, "box.csv")
    assert warning == (
        "box.csv: 'cpu' (did you mean 'cpus'?) and 'weather' are kept as remarks, and are no keys with a meaning; "
        "these are: label, host, model, kind, workload, unit, date, cpus, cores, source"
    )
    assert made.header.facts == {"cpu": "16", "source": "a paper", "weather": "good"}
    assert made.header.plan.vcpus is None
    assert from_text("# cpus: 16\n# source: x\nn,repeat,rate\n1,1,2\n", "box.csv")[1] == ""
    both = from_text("# Core: 8\nn,repeat,rate,host\n1,1,2,a\n", "box.csv")[1]
    assert both.startswith("box.csv: passed over column 'host'; 'core' (did you mean 'cores'?) is kept as a remark")
    many = "".join(f"# key {at}: x\n" for at in range(9))
    assert "'key 4' and 4 more are kept" in from_text(f"{many}n,repeat,rate\n1,1,2\n", "box.csv")[1]


def test_the_same_file_gives_the_same_run_and_other_facts_another() -> None:
    assert record().header.run_id == record().header.run_id
    assert record().header.run_id != record(TIMES, RunFacts(cpus=8)).header.run_id


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("n,repeat,rate\n", "no line of figures"),
        ("n,repeat,rate\n1,1,x\n", "box.csv, line 2: rate 'x' is not a number"),
        ("n,repeat,rate\n1,1,0\n", "line 2: rate '0' is not"),
        ("n,repeat,rate\n1,1,nan\n", "line 2: rate 'nan' is not"),
        ("n,repeat,rate\n1,1\n", "line 2: rate '' is not"),
        ("n,repeat,rate\n0,1,1\n", "line 2: n '0' is not a whole number from 1"),
        ("n,repeat,rate\n1.5,1,1\n", "line 2: n '1.5' is not"),
        ("n,repeat,rate\n0000000011234567,1,1\n", "line 2: n '0000000011234567' is not"),
        ("n,repeat,rate\n" + "".join(f"1000,{repeat},1\n" for repeat in range(300)), "line 202: more than 200000"),
        ("n,repeat,rate\n1,1,1\n2,1,2\n1,1,3\n", "line 4 has n 1, repeat '1' again, after line 2"),
        ("# a\nn,repeat,session,seconds\n1,1,a,1\n1,1,a,1\n", "line 4 has n 1, repeat '1', session 'a' again"),
        ("n,repeat,session,seconds\n2,1,a,1\n", "line 2: the round with n 2, repeat '1' has 1 lines and not 2"),
        ("n,repeat,seconds\n1,1,1\n", "no column session"),
        ("n,rate,rate\n1,1,1\n", "'rate' twice"),
        ("n,repeat,session,seconds,rate\n1,1,1,1,1\n", "keep one of them"),
        ("a,b\n1,2\n", "no line of column names"),
        ("", "no line of column names"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(text: str, sentence: str) -> None:
    with pytest.raises(RecordFormatError, match=sentence):
        record(text)


@pytest.mark.parametrize(
    ("text", "facts", "sentence"),
    [
        ("# cpus: many\n" + RATES, RunFacts(), "cpus 'many' is not a whole number"),
        ("# cpus: 2\n# cores: 4\n" + RATES, RunFacts(), "4 cores are more than the 2 CPUs"),
        (RATES, RunFacts(date="yesterday"), "date 'yesterday' is none"),
        (TIMES, RunFacts(unit="loops/s"), "has seconds and no rates"),
    ],
)
def test_facts_that_make_no_sense_are_refused(text: str, facts: RunFacts, sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence):
        record(text, facts)


# --- round trips, and anything at all -----------------------------------------------------------

values = st.floats(0.001, 1e6)
rounds_of_times = st.lists(
    st.integers(1, 4).flatmap(lambda n: st.lists(values, min_size=n, max_size=n)), min_size=1, max_size=8
)


@settings(max_examples=40)
@given(rounds_of_times, st.sampled_from([",", ";", "\t"]), st.integers(1, 9), st.booleans())
def test_times_come_back_and_are_explained(rounds: list[list[float]], mark: str, cpus: int, known: bool) -> None:
    lines = [mark.join(["n", "repeat", "session", "seconds"])]
    for repeat, each in enumerate(rounds):
        lines += [mark.join(map(str, (len(each), repeat, session, s))) for session, s in enumerate(each)]
    found = record("\n".join(lines), RunFacts(cpus=cpus) if known else None)
    assert seconds(found) == rounds
    assert codec.from_data(data_of(found), "it") == found
    assert anonymised(found).header.label == ""
    assert found.header.plan.workload.name in printed(found)


@settings(max_examples=40)
@given(st.dictionaries(st.tuples(st.integers(1, 6), st.integers(1, 3)), values, min_size=1))
def test_rates_come_back_and_are_explained(rates: dict[tuple[int, int], float]) -> None:
    found = record("n,repeat,rate\n" + "".join(f"{n},{repeat},{rate}\n" for (n, repeat), rate in rates.items()))
    by_round = {(each.level, each.repeat): each for each in found.rounds}
    assert len(by_round) == len(rates)
    assert sum(len(each.sessions) for each in found.rounds) == sum(n for n, _ in rates)
    printed(found)


@settings(max_examples=300)
@given(
    st.one_of(
        st.text(),
        st.lists(st.text(alphabet="n,repatsiodcu;\t0123456789.-#:\"'\r\n \ufeff\x00", max_size=20), max_size=6).map(
            "\n".join
        ),
        st.text(alphabet="12,;\"'\n.e-x#", max_size=60).map("n,repeat,session,seconds\n{}".format),
        st.text(alphabet="12,;\"'\n.e-x#", max_size=60).map("# cpus: 2\nn;repeat;rate\n{}".format),
    )
)
@example('n,repeat,rate\n1,1,"1\n')
@example("n,repeat,rate\n" + "9" * 5000 + ",1,1\n")
@example("# cpus: " + "9" * 5000 + "\nn,repeat,rate\n1,1,1\n")
def test_any_text_is_a_run_or_refused_in_one_sentence(text: str) -> None:
    try:
        found = record(text)
    except DbcpuError as error:
        assert "\n" not in str(error)
        assert len(str(error)) < 400
    else:
        printed(found)


def test_every_fact_can_be_given_by_option() -> None:
    from dbcpu.cli.import_ import command

    options = {each.name for each in command.params}
    assert set(RunFacts.__struct_fields__) - {"others"} <= options


EXAMPLES = re.findall(r"^```\n(.*?n,repeat,.*?)^```", (ROOT / "docs" / "published.md").read_text("utf-8"), re.M | re.S)


def test_the_examples_of_the_document_can_be_pasted() -> None:
    times, rates = (record(text) for text in EXAMPLES)
    assert (times.header.facts["model"], times.header.plan.target) == ("Xeon E3-1220L", "box7")
    assert [each.level for each in times.rounds] == [1, 1, 2, 2, 3, 3, 4, 4]
    assert explain(times).levels[2].slow == 2
    assert rates.header.plan.workload.unit == "loops/s"


def test_advice_to_an_import_has_no_time_and_no_option_of_another_command() -> None:
    """Nobody knows how long its rounds took with what belongs to them, or by which command they were measured."""
    times, rates = (record(text) for text in EXAMPLES)
    found = explain(times)
    assert found.more_rounds is not None and "6 more rounds (5 of each level in all) would" in found.verdict
    given_sides = [MeasuredSide(name, (measured(name, each),)) for name, each in (("a", times), ("b", rates))]
    sides = compare_sides(given_sides).sides
    advice = [each.remedy for side in sides for each in side.findings]
    assert "more rounds (5 rounds of each level)" in advice
    assert not any("--repeats" in each for each in advice)


def test_of_work_whose_kind_nobody_named_it_is_said_so() -> None:
    base, other = record(EXAMPLES[0]).header, record(f"# kind: shell\n{EXAMPLES[1]}").header
    assert other_work(base, other).endswith("of shell against loop of 10 s of unnamed kind")


def test_fields_that_no_column_names_are_refused_and_not_dropped() -> None:
    """A decimal comma makes two fields of one number."""
    with pytest.raises(
        RecordFormatError, match="line 2 has 5 fields, and 4 columns have a name; write decimals with a point"
    ):
        from_text("n,repeat,session,seconds\n1,1,1,1,05\n", "x.csv")
