"""Tests end the programs they start by signals; under nohup, or in the background of a shell, these are ignored.

A child inherits what is ignored, and not what is handled: so those are handled here, and nothing is done.
"""

import signal

import pytest


def pytest_configure(config: pytest.Config) -> None:
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM, signal.SIGQUIT):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, lambda *_: None)
