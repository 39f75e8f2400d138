"""An interval for a share of few cases."""


def wilson(hits: int, cases: int, z: float = 1.96) -> tuple[float, float]:
    """95 % interval of a proportion. Source: Wilson, JASA 22, 1927; (0, 1) of no cases."""
    if not cases:
        return 0.0, 1.0
    share, weight = hits / cases, z * z / cases
    centre = (share + weight / 2) / (1 + weight)
    half = z * (share * (1 - share) / cases + weight / (4 * cases)) ** 0.5 / (1 + weight)
    return max(0.0, centre - half), min(1.0, centre + half)


def told(hits: int, cases: int) -> str:
    """``97.3 % (94.1 to 98.8, 292 of 300)``."""
    if not cases:
        return "-"
    low, high = wilson(hits, cases)
    return f"{100 * hits / cases:.1f} % ({100 * low:.1f} to {100 * high:.1f}; {hits} of {cases})"
