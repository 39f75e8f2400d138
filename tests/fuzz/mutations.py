"""Small changes to real input: what is almost right gets further than what is drawn from nothing."""

import copy
import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from hypothesis import strategies as st

Draw = Callable[[st.SearchStrategy[Any]], Any]
"""Of ``st.composite``."""

TEXTS = st.text(st.characters(codec="utf-8"), max_size=12) | st.sampled_from(
    ["", " ", "-", "--", "0", "-1", "1e999", "nan", "inf", "9" * 25, "9" * 5000, "\0", "\x1b[31m", "x" * 300, "../x",
     "\N{ARABIC-INDIC DIGIT ONE}", "\N{SUPERSCRIPT TWO}", "<script>", "=1+1", "a=b", "0-65535", "1,2,3", "1-", "%s",
     "{0}", "last", "baseline", "\u2028", "\ufeff", "/dev/null", "/", "a/b.json", "2026-13-45T99:99:99"]
)  # fmt: skip
NUMBERS = st.one_of(
    st.sampled_from([0, 1, -1, 2, 3, 7, 0.5, 1e-9, 1e9, 1e12, 1e300, -1e300, 5e-324, 2**31, 2**53, 2**63 - 1, 2**63,
                     2**64, -(2**63), 10**30, 10**400, 9_999, 10_000, 65_535, 65_536]),
    st.integers(-10, 70), st.floats(allow_nan=False, allow_infinity=False),
)  # fmt: skip
SURROGATES = st.sampled_from(["\ud800", "a\udcff", "\udfff\ud800"])
VALUES = st.one_of(NUMBERS, TEXTS, SURROGATES, st.none(), st.booleans(), st.just([]), st.just({}))


# --- JSON ---------------------------------------------------------------------------------------


def mutated_json(draw: Draw, data: Any, most: int = 3) -> Any:
    """A copy of ``data`` with one to ``most`` changes: of values, of lists, and of one value to that of another."""
    data = copy.deepcopy(data)
    for _ in range(draw(st.integers(1, most))):
        places = list(_places(data))
        if not places:
            return data
        change = draw(st.sampled_from(_CHANGES))
        holder, key = draw(st.sampled_from(places))
        change(draw, holder, key, places)
    return data


def _places(data: Any) -> Iterator[tuple[Any, Any]]:
    """Every value that can be changed, as what holds it and its key; lists give their first three and their last."""
    if isinstance(data, dict):
        keys: Sequence[Any] = list(data)
    elif isinstance(data, list):
        keys = sorted({*range(min(3, len(data))), len(data) - 1} - {-1})
    else:
        return
    for key in keys:
        yield data, key
        yield from _places(data[key])


def _replace(draw: Draw, holder: Any, key: Any, places: Sequence[tuple[Any, Any]]) -> None:
    holder[key] = draw(VALUES)


def _nudge(draw: Draw, holder: Any, key: Any, places: Sequence[tuple[Any, Any]]) -> None:
    """A number stays plausible: it passes the bounds, and contradicts its neighbours."""
    value = holder[key]
    if isinstance(value, bool):
        holder[key] = not value
    elif isinstance(value, int):
        holder[key] = value + draw(st.sampled_from([-1, 1, 2, 5, 100]))
    elif isinstance(value, float):
        holder[key] = draw(st.sampled_from([0.0, value / 2, value * 2, value * 1000, value + 1, -value, 1e-9]))
    elif isinstance(value, str):
        holder[key] = value[: draw(st.integers(0, len(value)))] + draw(TEXTS)
    elif isinstance(value, list) and value:
        _resize(draw, value)


def _resize(draw: Draw, value: list[Any]) -> None:
    at = draw(st.integers(0, len(value) - 1))
    match draw(st.sampled_from(["drop", "again", "cut", "turn"])):
        case "drop":
            del value[at]
        case "again":
            value.insert(at, copy.deepcopy(value[at]))
        case "cut":
            del value[at:]
        case "turn":
            value.reverse()


def _copy(draw: Draw, holder: Any, key: Any, places: Sequence[tuple[Any, Any]]) -> None:
    """The value of another place of the same kind."""
    same = [(other, at) for other, at in places if type(other[at]) is type(holder[key])]
    other, at = draw(st.sampled_from(same))
    holder[key] = copy.deepcopy(other[at])


def _remove(draw: Draw, holder: Any, key: Any, places: Sequence[tuple[Any, Any]]) -> None:
    del holder[key]


_CHANGES = (_nudge, _nudge, _nudge, _copy, _copy, _replace, _remove)


def dumped(data: Any) -> str:
    """As JSON, lone surrogates escaped."""
    return json.dumps(data)


# --- lines --------------------------------------------------------------------------------------


def mutated_lines(draw: Draw, text: str, marks: str = " =,", most: int = 3) -> str:
    """``text`` with one to ``most`` changes of its lines, or of their words between ``marks``."""
    lines = text.splitlines()
    for _ in range(draw(st.integers(1, most))):
        if not lines:
            break
        at = draw(st.integers(0, len(lines) - 1))
        match draw(st.sampled_from(["word", "word", "word", "cut", "drop", "again", "swap", "new"])):
            case "word":
                lines[at] = _with_another_word(draw, lines[at], marks)
            case "cut":
                lines[at] = lines[at][: draw(st.integers(0, len(lines[at])))]
            case "drop":
                del lines[at]
            case "again":
                lines.insert(draw(st.integers(0, len(lines))), lines[at])
            case "swap":
                other = draw(st.integers(0, len(lines) - 1))
                lines[at], lines[other] = lines[other], lines[at]
            case "new":
                lines.insert(at, draw(TEXTS))
    end: str = draw(st.sampled_from(["\n", "", "\r\n"]))
    return "\n".join(lines) + end


def _with_another_word(draw: Draw, line: str, marks: str) -> str:
    ends = [0, *(at + 1 for at, letter in enumerate(line) if letter in marks)]
    begin = draw(st.sampled_from(ends))
    end = next((at for at in range(begin, len(line)) if line[at] in marks), len(line))
    other = _word(draw(NUMBERS | TEXTS))[:6000]
    return f"{line[:begin]}{other}{line[end:]}"


def _word(value: Any) -> str:
    return str(value) if isinstance(value, str) else repr(value)
