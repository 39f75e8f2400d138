"""Golden files: what a format looked like when somebody last looked at it.

``golden(name, text)`` compares with tests/golden/<name>; ``pytest --update-golden`` writes it anew.
"""

from collections.abc import Callable

import pytest

from support.paths import TESTS

FOLDER = TESTS / "golden"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="write the golden files anew instead of comparing")


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """Compare a text with its golden file, or write it with --update-golden."""

    def check(name: str, text: str) -> None:
        path = FOLDER / name
        if request.config.getoption("--update-golden"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, "utf-8", newline="\n")
        assert path.is_file(), f"tests/golden/{name} is missing; look at the output and run pytest --update-golden"
        assert text == path.read_text("utf-8"), f"tests/golden/{name} differs; look, then run pytest --update-golden"

    return check
