"""The commands that the documents show: each line of a block that calls dbcpu or a script of shell/."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from support.paths import ROOT

PAGES = (
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "reports/examples/README.md")),
    *sorted(ROOT.glob("docs/*.md")),
)
_BLOCK = re.compile(r"^```(?P<fence>.*?)^```|^(?P<indented>(?: {4}.*\n?)+)", re.M | re.S)
_CALL = re.compile(r"^(?:\$ )?(?:sudo )?(?:[A-Z_]+=\S+ )*(?P<call>(?:shell/[\w-]+|dbcpu)(?: .*)?)$")


class DocumentedCommand(Struct, frozen=True):
    """One command: the page that shows it, and its words, the program first."""

    page: str
    words: tuple[str, ...]

    @property
    def text(self) -> str:
        return shlex.join(self.words)

    @property
    def is_dbcpu(self) -> bool:
        return self.words[0] in ("dbcpu", "shell/dbcpu")


def documented_commands() -> tuple[DocumentedCommand, ...]:
    """In the order of the pages, each once a page."""
    return tuple(dict.fromkeys(each for page in PAGES for each in _of_page(page)))


def _of_page(page: Path) -> Iterator[DocumentedCommand]:
    for block in _BLOCK.finditer(page.read_text("utf-8")):
        lines = (block["fence"] or block["indented"]).replace("\\\n", " ").splitlines()
        for line in lines:
            for part in line.strip().split(" && "):
                call = _CALL.match(part)
                if call is not None:
                    # What stands below is an explanation in columns, without a hash.
                    text = re.split(r"\s{2,}(?=[a-z])| \| |; echo ", call["call"])[0]
                    yield DocumentedCommand(str(page.relative_to(ROOT)), (*shlex.split(text, comments=True),))
