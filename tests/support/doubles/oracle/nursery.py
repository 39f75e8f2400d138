"""Forks listeners that have everything loaded: a double then starts in hundredths of a second of CPU, not in tenths.

One for each process that starts doubles, which it ends with (PDEATHSIG, and a socket that closes). On its standard
input, a socket, come two descriptors for each double: what the listener reads, and what it writes.
"""

import contextlib
import gc
import os
import signal
import socket
import sys
from typing import NoReturn

from support.doubles.oracle import listener
from support.doubles.oracle.catalogue import Catalogue
from support.doubles.oracle.process import end_with_parent


def main() -> None:
    """Until the socket closes."""
    end_with_parent(int(sys.argv[1]), signal.SIGKILL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, _reap)
    Catalogue()  # what it reads and normalizes is kept, for all listeners
    gc.collect()
    gc.freeze()  # the collector of a child would write to each page of what it shares with all others
    with socket.socket(fileno=os.dup(0)) as asked:
        while True:
            _, descriptors, _, _ = socket.recv_fds(asked, 1, 2)
            if len(descriptors) != 2:
                return
            if not os.fork():
                asked.close()
                _listen(*descriptors)
            for each in descriptors:
                os.close(each)


def _reap(*_: object) -> None:
    """What they used counts as this process's, and so as that of whoever waits for it."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0] > 0:
            pass


def _listen(reads: int, writes: int) -> NoReturn:
    code = 1
    try:
        for descriptor, standard in ((reads, 0), (writes, 1)):
            os.dup2(descriptor, standard)
            os.close(descriptor)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        listener.main()
        code = 0
    finally:
        sys.stdout.flush()
        os._exit(code)


if __name__ == "__main__":
    main()
