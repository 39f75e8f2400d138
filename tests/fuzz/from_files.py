"""Files of measurements: records, lines of the scripts of shell/, and CSV."""

import json
from functools import cache
from typing import Any

from hypothesis import strategies as st

from dbcpu.store import record_file
from fuzz.mutations import TEXTS, dumped, mutated_json, mutated_lines
from fuzz.sandbox import Sandbox
from plugins import runs
from support.builders import experiments
from support.builders.comparison import with_variants
from support.builders.record import record, round_of, session, solos
from support.paths import TESTS
from support.record_data import text_of

RUN = "run.json"
COMMANDS = (
    ("show", RUN), ("show", RUN, "--json"), ("show", RUN, "--format", "markdown"), ("check", RUN),
    ("show", RUN, "--format", "csv"), ("show", RUN, "--format", "metrics"), ("compare", RUN, "base.json"),
    ("compare", "base.json", RUN, "--format", "json"), ("compare", RUN), ("export", RUN, "out.json.gz", "--anonymise"),
    ("export", RUN, "out.trace.json"), ("export", RUN, "out.pftrace"), ("export", RUN, "--csv", "tables"),
    ("export", RUN, "--parquet", "tables", "--anonymise"),
)  # fmt: skip
STORED = (("list", "--history"), ("show", "last"), ("check", "--last"), ("export", "last", "out.json"),
          ("list", "--json"), ("delete", "last", "--yes"))  # fmt: skip


@cache
def _bases() -> tuple[str, ...]:
    """Small runs of every kind, as JSON."""
    two = [round_of([session(0), session(1, queue_s=0.6)], repeat=at, busy_s={0: 1.0, 1: 0.9}) for at in range(3)]
    swept = record([*solos(3), *two])
    again = record([*solos(3), *two], run_id="another-one")
    made = [
        runs.full_record(),
        swept,
        with_variants(swept, again, "spread"),
        experiments.soak(lambda *_: 20.0, segments=3, sessions=2),
        experiments.pool({1: 4.0, 2: 2.0}, pieces=4, rounds=1),
        experiments.together([1.0, 1.0], [1.5, 1.5], rounds=1),
        record_file.read(TESTS / "runs" / "schema-1.json"),
    ]
    return tuple(text_of(each) for each in made)


@st.composite
def records(draw: Any) -> tuple[str, bool, tuple[str, ...]]:
    """A record with a few changes; whether it is imported first; and a command."""
    data = json.loads(draw(st.sampled_from(_bases())))
    stored = draw(st.booleans())
    command = draw(st.sampled_from(STORED if stored else COMMANDS))
    if draw(st.integers(0, 39)) == 0:
        stored, command = False, ("show", RUN, "--format", "html")  # its charts take a second
    return dumped(mutated_json(draw, data)), stored, command


def read_record(box: Sandbox, given: tuple[str, bool, tuple[str, ...]]) -> None:
    text, stored, command = given
    box.tidy()
    (box.work / RUN).write_text(text)
    (box.work / "base.json").write_text(_bases()[1])
    if stored and box.command("import", RUN)[0] != 0:
        return
    box.command(*command)


LINES = """dbcpu-lines 1
label the old box
cpu id=0 socket=0 siblings=0,2
cpu id=1 socket=0 siblings=1,3
cpu id=2 socket=0 siblings=0,2
cpu id=3 socket=0 siblings=1,3
workload name=cartesian size=tiny n=20 rows=160000 answer=160000 executions=2
sql select count(*)
run started=2025-01-02T03:04:05 host=db1 system=Linux release=5.4 cpus=4 version=11.2 workers=sqlplus kind=shell
round order=0 level=1 repeat=0 released=2025-01-02T03:04:06
seen order=0 ordinal=0 at=2025-01-02T03:04:06.5 cpu=1 state=R run_ns=100000 delay_ns=5000
seen order=0 ordinal=0 at=2025-01-02T03:04:08.5 cpu=3 state=R run_ns=200000 delay_ns=9000
session order=0 ordinal=0 connect_s=0.35 pid=4711 cpu_s=1.5 delay_s=0.1 db_cpu_s=2.1 db_time_s=2.2
execution order=0 ordinal=0 start=1735787046.25 end=1735787047.25 answer=160000
execution order=0 ordinal=0 start=1735787047.5 end=1735787048.75 answer=160000
round order=1 level=2 repeat=0 released=2025-01-02T03:04:10
session order=1 ordinal=0 connect_s=0.5
execution order=1 ordinal=0 start=1735787051 end=1735787053 answer=160000
session order=1 ordinal=1 connect_s=0.25
failed order=1 ordinal=1 ORA-01013: user requested cancel
end status=complete
"""
SAMPLES = """dbcpu-lines 1
samples host=db1 hz=5
cpu id=0 socket=0 siblings=0
seen pid=4711 at=2025-01-02T03:04:06.5 cpu=1 state=R run_ns=100000 delay_ns=5000
seen pid=4711 at=2025-01-02T03:04:07.5 cpu=2 state=S run_ns=200000 delay_ns=5000
"""


@st.composite
def line_files(draw: Any) -> tuple[str, str | None]:
    """A file of a run, and perhaps one of samples."""
    samples = mutated_lines(draw, SAMPLES) if draw(st.integers(0, 3)) == 0 else None
    return mutated_lines(draw, LINES), samples


def read_lines(box: Sandbox, given: tuple[str, str | None]) -> None:
    box.tidy()
    text, samples = given
    (box.work / "run.lines").write_text(text, "utf-8", errors="surrogateescape")
    more: list[str] = []
    if samples is not None:
        (box.work / "run.samples").write_text(samples, "utf-8", errors="surrogateescape")
        more = ["--samples", "run.samples"]
    if box.command("import", "run.lines", *more)[0] == 0:
        box.command("show", "last")


_RUNS = ("# label: a magazine\n# cpus: 8\n# cores: 4\nn,repeat,session,seconds\n1,1,1,10.1\n2,1,1,10.2\n2,1,2,10.4\n",
         "# unit: loops/s\nn;repeat;rate\n1;1;100,5\n2;1;190\n1;2;101\n4;1;300\n")  # fmt: skip
_LOGS = (
    "# sessions: 1,2,4\nTM,EXEC,LIOS,CPUSECS,ELAPSECS,CPU_WAIT_SECS\n"
    "12/11/12 08:41:47,609,178422501,597.76,598.82,1.06\n"
    "12/11/12 08:51:48,1197,343892161,1191.77,1193.34,1.57\n12/11/12 09:11:54,2431,647484970,2347.19,2350.65,3.47\n",
    "Running 1 parallel gzip\n2147483648 bytes (2.1 GB) copied, 15.7105 s, 137 MB/s\nRunning 2 parallel gzip\n"
    "2147483648 bytes (2.1 GB) copied, 15.9782 s, 134 MB/s\n2147483648 bytes (2.1 GB) copied, 16,0045 s, 134 MB/s\n",
)
_PUBLISHED = (
    "# source: a magazine\nlabel,configuration,n,cpus,metric,value\nBox A,default,10,16,TPS,261\n"
    "Box A,node 0,10,8,TPS,1619\nBox B,default,20,16,TPS,300\nBox B,default,10,16,seconds,3.5\n"
)


@st.composite
def csv_files(draw: Any) -> tuple[str, list[str], list[str]]:
    """A file, what it is given to, and what is done afterwards."""
    if draw(st.booleans()):
        more = draw(st.sampled_from([[], ["--baseline", "Box A"], ["--baseline", "node 0"], ["--format", "json"]]))
        return mutated_lines(draw, _PUBLISHED, ",:"), ["compare", "x.csv", *more], []
    facts = draw(st.sampled_from([[], ["--cpus", "4"], ["--cores", "3"], ["--date", draw(TEXTS)]]))
    text = mutated_lines(draw, draw(st.sampled_from(_RUNS)), ",;:")
    return text, ["import", "x.csv", *facts], draw(st.sampled_from([["show", "last"], ["show", "last", "--json"]]))


@st.composite
def other_logs(draw: Any) -> tuple[str, list[str], list[str]]:
    """A log of a well-known test by other people, and as ``csv_files``."""
    text = mutated_lines(draw, draw(st.sampled_from(_LOGS)), " ,")
    first = draw(st.sampled_from([["import", "x.csv"], ["compare", "x.csv", "x.csv"], ["show", "x.csv"]]))
    return text, first, ["show", "last"] if first[0] == "import" else []


def read_csv(box: Sandbox, given: tuple[str, list[str], list[str]]) -> None:
    box.tidy()
    text, first, then = given
    (box.work / "x.csv").write_text(text, "utf-8", errors="surrogateescape")
    if "\0" not in "".join(first) and box.command(*first)[0] == 0 and then:
        box.command(*then)
