"""Files that are there whole or not at all: nobody reads half of one, and a failure leaves what was there."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def draft_of(target: Path) -> Iterator[Path]:
    """The path of a file to write beside ``target``, whose place it takes in one step when the block ends well.

    Otherwise it is removed. Raises OSError where it cannot take the place.
    """
    draft = target.with_name(f".{target.name}.{os.urandom(4).hex()}.draft")
    try:
        yield draft
        draft.replace(target)
    except BaseException:
        with suppress(OSError):
            draft.unlink()
        raise


def replace_file(target: Path, content: bytes) -> None:
    """Write ``content`` to ``target``, whole or not at all. Raises OSError."""
    with draft_of(target) as draft, draft.open("xb") as stream:  # a new file: no link of another user is followed
        stream.write(content)
