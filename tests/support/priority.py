"""Precedence over the machine's other work, for processes whose times a test looks at."""

import contextlib
import os
from pathlib import Path


def prefer(pid: int, nice: int) -> None:
    """Give this process ``nice``, if permitted, and if it leads a session of its own the session, too.

    Where each session has its share, nice counts within that only. The session of the tests keeps its share: all that
    they start in sessions of their own would starve. Source: sched(7), autogroup
    """
    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, pid, nice)
        if os.getsid(pid) == pid:
            Path(f"/proc/{pid}/autogroup").write_text(str(nice))
