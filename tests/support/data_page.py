"""The columns of docs/data.md, made from the tables that are exported."""

from dbcpu.reports.tables.table import ExportedTable
from dbcpu.reports.tables.write import TABLES

BEGIN = "<!-- columns: made from kit/dbcpu/reports/tables -->\n"
END = "<!-- end of columns -->\n"


def with_columns(page: str) -> str:
    """The page with the columns that there are."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return before + BEGIN + "\n" + "\n".join(map(_section, TABLES)) + "\n" + END + after


def _section(table: ExportedTable) -> str:
    lines = [f"### {table.name}", "", f"One row per {table.row}.", ""]
    lines += ["| column | type | unit | meaning |", "|---|---|---|---|"]
    lines += [f"| `{each.name}` | {each.type} | {each.unit} | {each.meaning} |" for each in table.columns]
    return "\n".join(lines) + "\n"
