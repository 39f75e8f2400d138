"""Every tests/fix_*.py is a plug-in with fixtures or rules; a new one is found by its name.

Test folders also find the modules beside this file (build_record.py).
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

pytest_plugins = sorted(file.stem for file in Path(__file__).parent.glob("fix_*.py"))
