"""Parts of the page that several of its sections need."""

from collections.abc import Iterable, Mapping

from dbcpu.analysis.results.cause import CAUSES


def lines(rows: Iterable[str]) -> str:
    return "\n".join(rows)


def matrix(pairs: Mapping[tuple[str, str], int]) -> str:
    """Truth by row, what was said by column."""
    truths = [cause for cause in CAUSES if any(truth == cause for truth, _ in pairs)]
    said = [cause for cause in CAUSES if any(name == cause for _, name in pairs)]
    head = f"| true \\ said | {' | '.join(said)} |\n|---|{'---|' * len(said)}"
    body = [
        f"| **{truth}** | {' | '.join(str(pairs.get((truth, name), 0) or '') for name in said)} |" for truth in truths
    ]
    return f"{head}\n{lines(body)}"
