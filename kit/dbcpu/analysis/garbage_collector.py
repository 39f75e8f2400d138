"""What makes millions of objects, none of them in a cycle, does without the cyclic garbage collector."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

MANY_NEW = 100_000
"""Objects that the collector goes through in milliseconds."""


@contextmanager
def no_cycles_sought() -> Iterator[None]:
    """Meanwhile the collector does not run: it would go through all of them again and again."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        # Counting what is frozen goes through all of it: where a program froze itself, longer than a run is explained.
        if enabled and gc.get_count()[0] > MANY_NEW and not gc.get_freeze_count():
            # To the old generation without a look: the next collection of new objects would go through all of them.
            gc.freeze()
            gc.unfreeze()
        if enabled:
            gc.enable()
