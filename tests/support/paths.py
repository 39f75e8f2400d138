"""Where the project's folders are, for tests at any depth."""

from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
ROOT = TESTS.parent
HOSTS = TESTS / "hosts"
"""Recorded hosts: archives of /proc and /sys."""
EXAMPLES = ROOT / "reports" / "examples"
