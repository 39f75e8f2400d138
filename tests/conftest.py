"""Fixtures that tests of several folders share; each lives in a ``fix_<what>.py`` beside this file."""

pytest_plugins = ["fix_golden"]
