"""Runs of which levels have no whole round: what may be wrong with a session, or with all of a round."""

from collections.abc import Callable

from msgspec.structs import replace

from dbcpu.record.rounds import Round, RunRecord, Session


def failed(one: Session) -> Session:
    return replace(one, error="ORA-00600", answer_ok=None)


def wrong(one: Session) -> Session:
    return replace(one, answer_ok=False)


def unfinished(one: Session) -> Session:
    return replace(one, executions=(), answer_ok=None)


def clocked(one: Session) -> Session:
    """The server's clock was set back while it ran."""
    return replace(one, executions=tuple(replace(each, server_elapsed_s=-0.5) for each in one.executions))


def stamped(run: RunRecord) -> RunRecord:
    """With the server's stamps, where the record has none of it."""

    def by_server(one: Session) -> Session:
        given = (replace(e, server_start_s=e.start_s, server_elapsed_s=e.elapsed_s) for e in one.executions)
        return one if all(each.server_elapsed_s for each in one.executions) else replace(one, executions=tuple(given))

    return replace(
        run, rounds=tuple(replace(each, sessions=tuple(map(by_server, each.sessions))) for each in run.rounds)
    )


SPOILT: dict[str, tuple[Callable[[Session], Session], str, str]] = {
    "error": (failed, "failed sessions", "read the error in the database's log"),
    "wrong answer": (wrong, "wrong answers", "run the workload's file below `sql/` by hand"),
    "no execution": (unfinished, "failed sessions", "read the error in the database's log"),
    "clock": (clocked, "failed sessions", "read the error in the database's log"),
}
"""By what is wrong with a session: how, the card of it, and what helps."""


def spoilt(run: RunRecord, how: str, *levels: int, only: int | None = None) -> RunRecord:
    """In each round of ``levels``, or in that of the repeat ``only``, the last session is so; or the rounds failed."""

    def changed(one: Round) -> Round:
        if one.level not in levels or only not in (None, one.repeat):
            return one
        if how == "round":
            return replace(one, error="lost")
        return replace(one, sessions=(*one.sessions[:-1], SPOILT[how][0](one.sessions[-1])))

    return replace(run, rounds=tuple(map(changed, (stamped(run) if how == "clock" else run).rounds)))
