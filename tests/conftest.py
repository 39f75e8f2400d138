"""Every tests/fix_*.py is a plug-in with fixtures or rules; a new one is found by its name."""

from pathlib import Path

pytest_plugins = sorted(file.stem for file in Path(__file__).parent.glob("fix_*.py"))
