"""Plugins of the test suite; test folders find the modules beside this file."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

pytest_plugins = ["fix_golden"]
