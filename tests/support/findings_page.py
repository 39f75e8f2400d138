"""docs/findings.md, made from the catalogue of findings."""

from dbcpu.record.findings import TOPICS


def page() -> str:
    """docs/findings.md."""
    parts = [
        "# Findings",
        "Every finding of dbcpu, by its code. `dbcpu doctor` and `dbcpu run` show it with the observed figures; "
        "with `--fail-on LEVEL` the exit code is 1 if there is one at or above that level. A *problem* invalidates "
        "the verdict, a *warning* limits it or is a result in itself, an *info* needs no action. Words in braces are "
        "replaced by values of the run. [glossary.md](glossary.md) explains the terms. Made from "
        "`kit/dbcpu/record/run_findings.py` and `findings.py`.",
    ]
    for topic in TOPICS:
        parts.append(f"## {topic.title}")
        for code, entry in topic.entries.items():
            remedy = f"\n- What helps: {entry.remedy}." if entry.remedy else ""
            seen = f"- Level: {entry.level.label}\n- Seen: {entry.when}."
            parts.append(f"### {code}\n\n{seen}\n- Meaning: {entry.meaning}.{remedy}")
    return "\n\n".join(parts) + "\n"
