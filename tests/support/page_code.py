"""The code in a document, run as a reader would: each block, with the output that the document shows below it."""

import re
from collections.abc import Callable
from pathlib import Path

_BLOCK = re.compile(r"^```(?P<language>\w+)\n(?P<code>.*?)^```$(?:\n\n```text\n(?P<shown>.*?)^```$)?", re.M | re.S)


def run_page(path: Path, runners: dict[str, Callable[[str], str]], *, update: bool, start: str = "") -> int:
    """Run every block whose language has a runner, in order, and compare what it gives with the text below it.

    Only those below the line ``start``, where it is given.
    With ``update`` the texts are written anew. Returns the number of blocks that were run.
    """
    ran = 0

    def replaced(block: re.Match[str]) -> str:
        nonlocal ran
        runner = runners.get(block["language"])
        if runner is None:
            return block[0]
        ran += 1
        output = runner(block["code"])
        if block["shown"] is None:
            return block[0]
        before = block[0].removesuffix(f"```text\n{block['shown']}```")
        return f"{before}```text\n{output}```"

    page = path.read_text("utf-8")
    before, line, rest = page.partition(start) if start else ("", "", page)
    made = before + line + _BLOCK.sub(replaced, rest)
    if update:
        path.write_text(made, "utf-8", newline="\n")
    else:
        assert made == page, f"{path.name} shows other output than its code gives; run pytest --update-golden"
    return ran
