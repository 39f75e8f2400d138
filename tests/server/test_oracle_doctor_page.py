"""docs/oracle-doctor.md shows what doctor prints: rendered again here, and compared."""

import pytest

from plugins.call import Call
from support.doubles.oracle.double import OracleDouble
from support.oracle_doctor_page import page
from support.paths import ROOT

pytestmark = pytest.mark.slow

DOCUMENT = ROOT / "docs" / "oracle-doctor.md"


def test_the_page_is_what_doctor_prints(call: Call, request: pytest.FixtureRequest) -> None:
    def doctor(double: OracleDouble) -> str:
        code, out, err = call("doctor", double.url, "--host", "none")
        assert code == 0, err
        return out

    found = page(doctor)
    if request.config.getoption("--update-golden"):
        DOCUMENT.write_text(found, "utf-8", newline="\n")
    assert DOCUMENT.read_text("utf-8") == found, "look, then run pytest --update-golden"
