"""What a history takes of a run's figures, kept as one text: of ten thousand runs nine rows each take seconds. Pure."""

import msgspec
from msgspec import Struct

from dbcpu.record.figures import RunFigures

HISTORY_FIGURES = "history_figures"


class PastFigures(Struct, frozen=True, array_like=True):
    """Of the first variant: Mrows/s alone, and by level above 1 (N, Mrows/s together, max/min); None: not known."""

    vcpus: int | None
    solo: float | None
    levels: tuple[tuple[int, float | None, float | None], ...]


def past_figures(figures: RunFigures) -> PastFigures:
    """From the rows of a run with all its figures."""
    vcpus = figures.value("vcpus")
    variant, value = figures.text("variant"), figures.value
    return PastFigures(
        vcpus=None if vcpus is None else int(vcpus),
        solo=value("solo_mrows_per_s"),
        levels=tuple(
            (level, value("throughput_mrows_per_s", level, variant), value("max_over_min_x", level, variant))
            for level in figures.levels(variant)
            if level > 1
        ),
    )


def as_text(past: PastFigures) -> str:
    """JSON: ``[vCPUs, alone, [[N, together, max/min], ...]]``."""
    return msgspec.json.encode(past).decode()


def kept_past_figures(figures: RunFigures) -> PastFigures | None:
    """As kept; None where that is no such text."""
    try:
        return _DECODER.decode(figures.text(HISTORY_FIGURES))
    except msgspec.DecodeError:
        return None


_DECODER = msgspec.json.Decoder(PastFigures)
