"""What more sessions cost in throughput reads as it is meant."""

from dbcpu.analysis.conclusions.throughput_words import falls_words
from dbcpu.analysis.results.host import Fall, Scaling


def words(best_level: int | None) -> str:
    fall = Fall(from_level=3, to_level=4, share=0.11, best_level=best_level)
    (said,) = falls_words(Scaling(knees=(), smt_yield=None, effective_cores=None, fall=fall))
    return said


def test_where_throughput_is_highest_does_not_read_as_where_it_falls_most() -> None:
    falls = "throughput falls with more sessions: at 4 sessions it is 11 % less than at 3"
    assert words(8) == f"{falls}, and it is highest at 8"
    assert words(3) == words(None) == falls
