"""How ``dbcpu doctor`` writes what it finds."""

from dbcpu.record.findings import noted
from dbcpu.workflows.doctor import as_text


def test_statements_stand_one_to_a_line_as_sqlplus_takes_them() -> None:
    several = noted("leftovers", "seen", statements="alter a '1,2'; alter b;")
    assert "end these sessions:\n           alter a '1,2';\n           alter b;" in as_text([several])
    assert "`alter a;`" in as_text([noted("leftovers", "seen", statements="alter a;")])
