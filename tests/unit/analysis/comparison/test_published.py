"""The CSV form of published measurements, and the examples that come with dbcpu: their relations hold."""

from pathlib import Path

import pytest

from dbcpu.analysis.comparison.outliers import outliers, small_components
from dbcpu.analysis.comparison.published import Published, is_rate, may_grow, normalise, parse
from dbcpu.errors import UsageError
from dbcpu.reports.document import Bars, Curves
from dbcpu.reports.documents.published import document
from support.paths import ROOT

FOLDER = ROOT / "reports" / "examples" / "published"
EXAMPLES = sorted(FOLDER.glob("*.csv"))


def example(name: str) -> Published:
    return parse((FOLDER / f"{name}.csv").read_text("utf-8"), name)


def value(published: Published, label: str, configuration: str, metric: str) -> float:
    (found,) = [
        each.value
        for each in published.measurements
        if (each.label, each.configuration, each.metric) == (label, configuration, metric)
    ]
    return found


def ratios(published: Published, metric: str, baseline: str | None = None) -> dict[tuple[str, str], float]:
    return {
        (each.measurement.label, each.measurement.configuration): each.ratio
        for each in normalise(published, baseline)
        if each.measurement.metric == metric
    }


def test_notes_columns_and_counts_are_read() -> None:
    read = parse("# first\n# line\n#\n# source: x\n\nMetric,label,configuration,n,value\nTPS, a ,b,4,2.5\n", "file")
    assert read.notes == ("first line", "source: x")
    (row,) = read.measurements
    assert (row.label, row.configuration, row.n, row.cpus, row.metric, row.value) == ("a", "b", 4, None, "TPS", 2.5)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("label,configuration,metric,value\n", "lacks column n or cpus"),
        ("label,configuration,n,value\n", "lacks column metric"),
        ("label,configuration,n,metric,value,colour\na,b,1,c,2,red\n", "has column colour"),
        ("label,configuration,n,metric,value\n", "holds no measurement"),
        ("label,configuration,n,metric,value\na,b,1,c,1,613\n", "line 2: there are not as many values as columns"),
        (
            "# note\nlabel,configuration,n,metric,value\na,b,1,c,1.613 TPS\n",
            "line 3: value '1.613 TPS'",
        ),
        ("label,configuration,n,metric,value\na,b,1,c,0\n", "value '0' is not a number above 0"),
        ("label,configuration,n,metric,value\na,b,1,c,nan\n", "value 'nan'"),
        ("label,configuration,n,metric,value\na,b,two,c,1\n", "n 'two' is not a whole number"),
        ("label,configuration,n,metric,value\n,b,1,c,1\n", "label or metric is empty"),
        ("label,configuration,n,metric,value\na,b,1,c,1\na,b,1,c,2\n", "two values of c for a, b"),
    ],
)
def test_what_is_wrong_in_a_file_is_said_with_its_place(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        parse(text, "file")


def test_the_baseline_is_the_first_row_or_the_one_named() -> None:
    read = parse("label,configuration,n,metric,value\na,x,1,m,2\na,y,1,m,4\nb,x,1,m,8\nb,y,1,m,4\n", "file")
    assert list(ratios(read, "m").values()) == [1.0, 2.0, 1.0, 0.5]
    assert list(ratios(read, "m", "y").values()) == [0.5, 1.0, 2.0, 1.0]
    assert list(ratios(read, "m", "a").values()) == [1.0, 1.0, 4.0, 1.0]
    with pytest.raises(UsageError, match="has no 'z' to be the baseline; there are: a, b, x, y"):
        normalise(read, "z")


def test_a_curve_whose_baseline_is_elsewhere_has_no_line_of_linear_growth() -> None:
    """Found by the fuzzer: no point of a's curve is the baseline, which is b's only row."""
    rows = "label,configuration,n,cpus,metric,value\na,x,10,16,TPS,261\na,x,20,16,TPS,300\nb,y,10,8,TPS,1619\n"
    (curves,) = [chart.data for chart in document(parse(rows, "file"), "b").charts if isinstance(chart.data, Curves)]
    assert curves.ideal is None
    assert [label for label, _ in curves.series] == ["a"]
    (own,) = [chart.data for chart in document(parse(rows, "file")).charts if isinstance(chart.data, Curves)]
    assert own.ideal == 10


@pytest.mark.parametrize("file", EXAMPLES, ids=[file.stem for file in EXAMPLES])
def test_an_example_says_its_source_and_can_be_shown(file: Path) -> None:
    read = parse(file.read_text("utf-8"), file.stem)
    assert any(note.startswith("Source:") for note in read.notes)
    shown = document(read)
    assert any(isinstance(chart.data, Bars | Curves) for chart in shown.charts)
    assert len(shown.records().rows) == len(read.measurements)


def test_binding_box_a_to_one_node_is_worth_a_factor_of_six() -> None:
    found = ratios(example("numa-policies"), "TPS")
    assert found["Box A", "node 0"] == pytest.approx(6.20, abs=0.005)  # 1619 / 261
    assert found["Box B", "node 0"] == pytest.approx(4.17, abs=0.005)  # 1613 / 387
    across = ratios(example("numa-policies"), "TPS", "Box A")
    assert across["Box B", "default"] == pytest.approx(1.48, abs=0.005)  # half the sockets, half as much again
    assert across["Box B", "node 0"] == pytest.approx(1.0, abs=0.01)  # bound to a node, the boxes are alike


def test_throughput_times_latency_is_the_number_of_threads() -> None:
    """Little's law with 10 threads, to the two milliseconds that the table leaves open."""
    numa = example("numa-policies")
    for label, configuration in ratios(numa, "TPS"):
        latency_ms = value(numa, label, configuration, "average latency")
        rate = value(numa, label, configuration, "TPS")
        assert rate * latency_ms / 1000 < 10 < rate * (latency_ms + 2) / 1000


def test_the_affinity_table_is_short_of_linear_at_four_and_beyond_it_at_eight() -> None:
    found = {
        (each.measurement.label, each.measurement.cpus): each.ratio / each.linear
        for each in normalise(example("affinity-cpus"))
        if each.linear
    }
    assert found["ECperf measured", 2] == 1.0
    assert found["ECperf measured", 4] == 0.875
    assert found["ECperf measured", 8] > 1.18
    whole = {each.measurement.cpus: each.ratio for each in normalise(example("affinity-cpus"))[4:]}
    # Steady growth, only rounded down to whole rates: some rate per CPU explains every number but that at 2.
    assert any(all(int(rate / 1000 * cpus) == whole[cpus] for cpus in (1, 4, 8)) for rate in range(1000, 2000))


def test_components_of_less_than_half_a_percent_everywhere_are_left_out_and_named() -> None:
    timers = example("ejb-timers")
    assert small_components(normalise(timers)) == ()  # the article left them out itself
    rows = [(1, "0.4"), (2, "0.49"), (4, "0.1")]
    logging = [f"Logging,{cpus} CPUs,{cpus},percent of time,{percent}," for cpus, percent in rows]
    source = (FOLDER / "ejb-timers.csv").read_text("utf-8") + "\n".join(logging) + "\n"
    shown = document(parse(source, "timers"))
    assert any("in no table by component and no curve: Logging." in note for note in shown.notes)
    (components,) = [section for section in shown.sections if section.name == "components"]
    assert all("Logging" not in str(row[0]) for table in components.tables for row in table.rows)
    assert any(line.label == "Logging" for line in shown.records().rows)


def test_time_per_call_is_total_over_calls_but_for_the_row_that_the_notes_name() -> None:
    timers = example("ejb-timers")
    rows = {(each.label, each.configuration) for each in timers.measurements}
    assert len(rows) == 48
    odd = [
        row
        for row in sorted(rows)
        if abs(value(timers, *row, "total ms") / value(timers, *row, "calls") - value(timers, *row, "ms per call"))
        > 0.011 * max(1.0, value(timers, *row, "ms per call") / 10)
    ]
    assert odd == [("Dispatch_Remote", "1 CPU")]
    assert any("Dispatch_Remote" in note for note in timers.notes)


def test_no_timer_but_the_web_call_changes_its_share_by_more_than_a_third() -> None:
    """What the FAQ concludes: shares of time stay alike from 1 to 4 CPUs."""
    shares = ratios(example("ejb-timers"), "percent of time")
    moved = {label for (label, _), ratio in shares.items() if not 0.6 < ratio < 1.4}
    assert moved == {"BuyerSes:BuyerSes.purchase()", "RuleBmp:EntityBean.ejbLoad()"} or moved == {
        "BuyerSes:BuyerSes.purchase()"
    }


def test_ten_times_the_threads_are_one_per_cent_sooner_and_ten_times_slower_each() -> None:
    pool = example("thread-pool")
    assert ratios(pool, "total s")["server", "100 threads"] == pytest.approx(0.989, abs=0.001)
    assert ratios(pool, "s per call")["server", "100 threads"] == pytest.approx(10.13, abs=0.01)
    # 100 calls through 10 threads at 1.39 s each are ten waves.
    assert value(pool, "server", "10 threads", "s per call") * 10 == pytest.approx(
        value(pool, "server", "10 threads", "total s"), rel=0.15
    )
    # The calls that were printed: uneven through few threads, alike through many, and all of them ten times as long.
    calls = [each for each in pool.measurements if each.label == "five calls"]
    few, many = ([each.value for each in calls if each.configuration.startswith(f"{size} ")] for size in (10, 100))
    assert len(few) == len(many) == 5
    assert max(few) / min(few) == pytest.approx(1.385, abs=0.001)
    assert max(many) / min(many) < 1.002
    assert sum(many) / sum(few) == pytest.approx(10.15, abs=0.01)


def test_local_cores_and_memory_keep_a_virtual_partition_within_one_per_cent() -> None:
    partitions = example("virtual-partitions")
    for metric, remote in (("SAPS", 0.92), ("BOPS", 0.90)):
        found = {configuration: ratio for (_, configuration), ratio in ratios(partitions, metric).items()}
        assert {found[name] for name in ("1B", "3B", "4A")} == {0.99}
        assert found["3C"] == remote == min(found[name] for name in ("1B", "2A", "2B", "3A", "3B", "3C"))
        assert all(found[two] <= found[one] for two, one in (("4A", "3B"), ("4B", "3C"), ("4C", "2A")))


def test_the_2017_findings_are_a_half_more_for_sql_and_twice_for_a_loop() -> None:
    ec2 = example("ec2-2017")
    seconds = [each for each in ec2.measurements if each.metric == "seconds" and each.n == 9]
    slow, fast = (
        next(each.value for each in seconds if each.configuration.startswith(word)) for word in ("slow", "fast")
    )
    assert slow / fast == 1.5
    assert ratios(ec2, "relative time")["shell loop", "slow processes"] == 2.0
    # Of 9 sessions on 8 cores a scheduler that never moves leaves 2 (N - cores) on shared cores.
    assert value(ec2, "Oracle SQL", "slow sessions", "number of sessions") == 2 * (9 - 8)


@pytest.mark.parametrize("metric", ["TPS", "BOPS", "calls per second", "Mrows/s", "best injection rate", "throughput"])
def test_a_rate_may_grow_in_proportion(metric: str) -> None:
    assert is_rate(metric)
    assert may_grow(metric)


BOUNDED = ("TPS per CPU", "Mrows/s per session", "throughput per core", "calls/s/core", "speed of each", "hit rate")


@pytest.mark.parametrize(
    "metric",
    ["seconds", "gzip seconds", "percent of time", "ms per call", "memory kB", "error rate", "clock speed", *BOUNDED],
)
def test_of_anything_else_nothing_linear_is_said(metric: str) -> None:
    rows = f"label,configuration,n,metric,value\nA,x,1,{metric},10\nA,x,2,{metric},11\n"
    published = parse(rows, "f.csv")
    assert [each.linear for each in normalise(published)] == [None, None]
    curves = [each.data for section in document(published).page for each in section.charts]
    assert [each.ideal for each in curves if isinstance(each, Curves)] == [None]


def test_less_of_a_rate_is_worse_whether_or_not_it_may_grow_and_more_errors_are_no_rate() -> None:
    assert all(map(is_rate, BOUNDED))
    assert not is_rate("error rate")


def test_curves_that_start_at_different_counts_have_no_common_line_of_linear_growth() -> None:
    """The line from 1 CPU would be twice as high as that of b, which begins at 2."""
    rows = "label,configuration,cpus,metric,value\na,x,1,TPS,10\na,x,2,TPS,20\nb,x,2,TPS,9\nb,x,4,TPS,18\n"
    read = parse(rows, "file")
    (curves,) = [chart.data for chart in document(read).charts if isinstance(chart.data, Curves)]
    assert curves.ideal is None
    assert [each.linear for each in normalise(read)] == [None, 2.0, None, 2.0]
    same = rows.replace("b,x,2,TPS,9", "b,x,1,TPS,5")
    (curves,) = [chart.data for chart in document(parse(same, "file")).charts if isinstance(chart.data, Curves)]
    assert curves.ideal == 1


def test_the_component_that_does_not_scale_like_the_others_is_named() -> None:
    """The seed of this example: BuyerSes.purchase() calls another process, which stood elsewhere on 2 CPUs."""
    timers = example("ejb-timers")
    found = outliers(normalise(timers))
    shares = [each for each in found if each.metric == "percent of time"]
    assert [(each.label, each.count, round(each.ratio, 2)) for each in shares] == [
        ("BuyerSes:BuyerSes.purchase()", 2, 0.37)
    ]
    assert not any(each.is_bottleneck for each in found)
    assert {each.label for each in found} == {"BuyerSes:BuyerSes.purchase()"}
    content = document(timers)
    assert content.verdict[0].startswith("BuyerSes:BuyerSes.purchase() stands out: ")
    assert content.front.headline == content.verdict[0].removesuffix(".")
    (components,) = (section for section in content.sections if section.name == "components")
    share = next(table for table in components.tables if table.caption.startswith("percent of time"))
    assert share.headings == ("component", "1 CPU", "2 CPUs", "4 CPUs")
    assert len(share.rows) == 16


def test_a_component_that_takes_a_growing_share_may_be_the_bottleneck() -> None:
    rows = "".join(
        f"part {at},{cpus} CPUs,{cpus},percent of time,{10 + at + (cpus == 4) * (0.2 * at + 20 * (at == 3))}\n"
        for at in range(6)
        for cpus in (1, 4)
    )
    (found,) = outliers(normalise(parse(f"label,configuration,cpus,metric,value\n{rows}", "parts")))
    assert (found.label, found.count, found.is_bottleneck) == ("part 3", 4, True)
    assert document(parse(f"label,configuration,cpus,metric,value\n{rows}", "parts")).verdict == (
        "part 3 stands out: percent of time 2.58x at 4 CPUs (median of all 6: 1.05x); it may be the bottleneck.",
    )


def test_few_components_and_small_differences_are_no_outliers() -> None:
    assert outliers(normalise(example("numa-policies"))) == ()
    assert outliers(normalise(example("virtual-partitions"))) == ()


def test_a_doubted_figure_is_shown_as_printed_and_compared_with_nothing() -> None:
    """The seed of this example prints 1.83 for Dispatch_Remote on 1 CPU, where total over count is 0.54."""
    timers = example("ejb-timers")
    doubted = [each for each in normalise(timers) if each.doubt]
    assert [(each.measurement.label, each.measurement.value, each.doubt) for each in doubted] == [
        ("Dispatch_Remote", 1.83, "misprint: 162216 / 297736 is 0.54"),
        ("Dispatch_Remote", 0.43, "its baseline is doubted"),
        ("Dispatch_Remote", 0.63, "its baseline is doubted"),
    ]
    content = document(timers)
    assert not any("Dispatch_Remote" in sentence for sentence in content.verdict)
    assert any(note.endswith("ms per call 1.83 (misprint: 162216 / 297736 is 0.54).") for note in content.notes)
    (measured, components) = content.sections
    table = measured.tables[0]
    shown = [dict(zip(table.headings, row, strict=True)) for row in table.texts()]
    rows = [row for row in shown if row["label"] == "Dispatch_Remote" and row["metric"] == "ms per call"]
    assert [(row["value"], row["ratio"], row["doubt"]) for row in rows] == [
        ("1.83", "-", "misprint: 162216 / 297736 is 0.54"),
        ("0.43", "-", "its baseline is doubted"),
        ("0.63", "-", "its baseline is doubted"),
    ]
    (per_call,) = (table for table in components.tables if table.caption.startswith("ms per call"))
    assert "Dispatch_Remote" not in [row[0] for row in per_call.texts()]
    (curve,) = (chart.data for chart in content.charts if chart.title.startswith("ms per call"))
    assert isinstance(curve, Curves)
    assert "Dispatch_Remote" not in dict(curve.series)
    (line,) = (each for each in content.data()["measurements"] if each["value"] == 1.83)
    assert (line["ratio"], line["doubt"]) == (None, "misprint: 162216 / 297736 is 0.54")


def test_a_file_of_doubted_figures_only_says_so() -> None:
    content = document(parse("label,configuration,n,metric,value,doubt\na,b,1,c,2,misprint\n", "file"))
    assert content.front.headline == "All of these figures are doubted, so none is compared"
    assert content.charts == ()
    without = document(parse("label,configuration,n,metric,value,doubt\na,b,1,c,2,\n", "file"))
    assert "doubt" not in without.sections[0].tables[0].headings


def test_each_curve_names_what_it_grows_with() -> None:
    rows = (
        "label,configuration,n,cpus,metric,value\na,x,1,,TPS,10\na,x,2,,TPS,20\na,x,,1,calls/s,9\na,x,,2,calls/s,18\n"
    )
    charts = [chart.data for chart in document(parse(rows, "file")).charts if isinstance(chart.data, Curves)]
    assert [each.x_title for each in charts] == ["concurrent sessions (N)", "CPUs"]


def test_the_headline_is_of_the_metric_that_differs_most_and_no_column_is_empty() -> None:
    text = (
        "label,configuration,n,cpus,metric,value\nserver,10 threads,100,,total s,15.9\n"
        "server,100 threads,100,,total s,15.8\nserver,10 threads,100,,s per call,1.4\n"
        "server,100 threads,100,,s per call,14\nserver,10 threads,100,,number of sessions,2\n"
        "server,100 threads,100,,number of sessions,70\n"
    )
    found = document(parse(text, "pool"))
    assert found.front.headline.startswith("s per call: from 1.00x (server 10 threads) to 10.00x")
    (table,) = found.sections[0].tables
    assert {"CPUs", "linear"}.isdisjoint(table.headings)
    assert "N" in table.headings
    ratios = [row[table.headings.index("ratio")] for row in table.texts()]
    assert ratios[-2:] == ["-", "-"], "a number of sessions is no ratio"
