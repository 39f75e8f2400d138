"""Every file of tests/plugins is a plug-in with fixtures or rules; a new one is found by its name."""

from pathlib import Path

PLUGINS = Path(__file__).parent / "plugins"
pytest_plugins = sorted(f"plugins.{file.stem}" for file in PLUGINS.glob("[!_]*.py"))
