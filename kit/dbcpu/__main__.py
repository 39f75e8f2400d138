"""``python -m dbcpu``."""

import sys

from dbcpu.cli import main

sys.exit(main())
