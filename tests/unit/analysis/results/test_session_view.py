"""The words of a session are made when they are read, and are the same whenever that is."""

import gc

import pytest
from msgspec.structs import replace

from dbcpu.analysis import explain as explaining
from dbcpu.analysis import garbage_collector
from dbcpu.analysis.explain import explain
from dbcpu.analysis.placement.neighbours import Neighbours
from dbcpu.reports.plain_data import plain_data
from support.builders.comparison import noisy_run


def test_with_whom_a_session_ran_is_found_when_its_evidence_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    real = Neighbours.partners

    def counting(self: Neighbours, ordinal: int, *rest: object) -> object:
        asked.append(ordinal)
        return real(self, ordinal, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(Neighbours, "partners", counting)
    analysis = explain(noisy_run(1, uneven=1.6))
    assert asked == []
    shared = next(each for each in analysis.sessions if each.cause == "shared_core")
    text = shared.evidence
    assert text.startswith(f"{shared.slowdown:.2f}x: shared core ") and asked == [shared.ordinal]
    assert shared.evidence is text and len(asked) == 1


def test_a_view_with_words_not_made_yet_is_like_any_other() -> None:
    first, second = (explain(noisy_run(1, uneven=1.6)).sessions for _ in range(2))
    assert first == second
    assert [plain_data(each)["evidence"] for each in first] == [each.evidence for each in second]
    assert replace(first[-1], group="slow").evidence == first[-1].evidence
    assert repr(first[0]).count("words='") == 1


def test_the_collector_of_cycles_is_as_before_after_an_explanation(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[bool] = []

    def failing(*_: object) -> None:
        seen.append(gc.isenabled())
        raise ValueError

    monkeypatch.setattr(explaining, "explain_variant", failing)
    with pytest.raises(ValueError):
        explain(noisy_run(1))
    assert (seen, gc.isenabled()) == ([False], True)


@pytest.mark.parametrize(("many", "asked"), [(-1, 1), (1 << 60, 0)])
def test_what_is_frozen_is_counted_only_where_much_is_new(
    many: int, asked: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counting goes through all of it."""
    calls = 0

    def counted() -> int:
        nonlocal calls
        calls += 1
        return 1

    monkeypatch.setattr(garbage_collector, "MANY_NEW", many)
    monkeypatch.setattr(gc, "get_freeze_count", counted)
    explain(noisy_run(1))
    assert calls == asked
