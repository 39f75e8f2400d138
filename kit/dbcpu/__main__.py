"""``python -m dbcpu``."""

import signal
import sys

# While the command line is loaded nothing has begun that would have to be tidied up: Ctrl-C ends the process as it
# ends any program, in place of a traceback. Where it is ignored (nohup) it stays so.
_can_interrupt = signal.getsignal(signal.SIGINT) is signal.default_int_handler
if _can_interrupt:
    signal.signal(signal.SIGINT, signal.SIG_DFL)

from dbcpu.cli import main  # noqa: E402

if _can_interrupt:
    signal.signal(signal.SIGINT, signal.default_int_handler)

if __name__ == "__main__":
    sys.exit(main())
