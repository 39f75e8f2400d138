"""The short form: the same inputs each time, about two thousand commands and calls; the long one is shell/fuzz."""

import resource
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from fuzz.sandbox import Failure, Sandbox
from fuzz.surfaces import SURFACES

ADDRESSES_BYTES = 8 << 30


@pytest.fixture
def box(tmp_path: Path) -> Iterator[Sandbox]:
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESSES_BYTES, hard))
    try:
        with Sandbox(tmp_path / "box") as made:
            yield made
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


@pytest.mark.slow
@pytest.mark.parametrize("name", list(SURFACES))
def test_whatever_comes_in_a_sentence_and_a_known_exit_code_come_out(box: Sandbox, name: str) -> None:
    surface = SURFACES[name]

    @settings(max_examples=surface.short, derandomize=True, database=None, deadline=None,
              suppress_health_check=list(HealthCheck), phases=[Phase.generate, Phase.shrink])  # fmt: skip
    @given(surface.inputs)
    def feed(what: object) -> None:
        surface.feed(box, what)

    feed()
    assert box.inputs >= surface.short


def test_a_crash_is_a_failure_with_its_place(box: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise KeyError("missing")

    monkeypatch.setattr("dbcpu.store.codec.loads", fail)
    (box.work / "run.json").write_text("{}")
    with pytest.raises(Failure, match=r"^store/record_file\.py:\d+ KeyError"):
        box.command("show", "run.json")


def test_an_exit_code_that_is_not_documented_is_a_failure(box: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dbcpu.cli.main", lambda *_: 7)
    with pytest.raises(Failure, match="exit code 7"):
        box.command("list")


def test_what_takes_too_long_is_stopped(box: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fuzz.sandbox.CPU_S", 0.05)

    def endless() -> None:
        while True:
            pass

    with pytest.raises(Failure, match="CPU time"):
        box.call(endless)


def test_what_takes_too_much_memory_is_a_failure(box: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was taken before belongs to no input: one that takes nothing passes after one that took much."""
    monkeypatch.setattr("fuzz.sandbox.MEMORY_BYTES", 20 << 20)
    kept: list[bytearray] = []
    with pytest.raises(Failure, match=r"memory: \d+ MiB"):
        box.call(lambda: kept.append(bytearray(b"x" * (60 << 20))))
    box.call(lambda: None)


def test_a_signal_ends_the_fuzzer_and_no_command(box: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(_: object) -> int:
        signal.raise_signal(signal.SIGTERM)
        return 0

    got: list[int] = []
    monkeypatch.setattr("dbcpu.cli._invoke", stopped)
    before = signal.signal(signal.SIGTERM, lambda number, _: got.append(number))
    try:
        code, _ = box.command("list")
    finally:
        signal.signal(signal.SIGTERM, before)
    assert (code, got) == (0, [signal.SIGTERM])


def test_nothing_is_measured(box: Sandbox) -> None:
    for command in (("run", "sqlite", "--yes"), ("doctor", "sqlite"), ("vary", "sqlite", "--variants", "spread")):
        code, said = box.command(*command)
        assert (code, "nothing is measured here" in said) == (3, True), said
