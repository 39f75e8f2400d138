"""A headless Chromium, driven over a pipe by its DevTools protocol: no driver program, no open port.

``browser`` is shared by all tests of a session. Source: https://chromedevtools.github.io/devtools-protocol/
"""

import base64
import fcntl
import json
import os
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct, field

NAMES = ("chromium", "chromium-browser", "google-chrome")
PATIENCE_S = 120.0
"""How long an answer may take on a busy machine before the test fails instead of hanging."""


class Page(Struct, dict=True):
    """What happened while a page was shown: every request, and every word on the console."""

    requests: list[str] = field(default_factory=list)
    console: list[str] = field(default_factory=list)


class Browser:
    """One Chromium process with one page."""

    def __init__(self, program: str, profile: Path) -> None:
        to_browser, self._write = os.pipe()
        self._read, from_browser = os.pipe()
        # The protocol wants the ends at 3 and 4; high numbers are not in the way of moving them there.
        given = [fcntl.fcntl(end, fcntl.F_DUPFD, 20) for end in (to_browser, from_browser)]
        flags = [
            "--headless", "--remote-debugging-pipe", "--disable-gpu", "--disable-quic", "--no-first-run",
            "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-extensions",
            "--hide-scrollbars", f"--user-data-dir={profile}", "about:blank",
        ]  # fmt: skip
        if os.geteuid() == 0:
            flags.insert(0, "--no-sandbox")
        move = f"import os, sys; os.dup2({given[0]}, 3); os.dup2({given[1]}, 4); os.execv(sys.argv[1], sys.argv[1:])"
        self.process = subprocess.Popen(
            [sys.executable, "-c", move, program, *flags],
            pass_fds=given,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for end in (to_browser, from_browser, *given):
            os.close(end)
        self._pending = b""
        self._number = 0
        self.page = Page()
        self._session: str | None = None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Network", "Runtime", "Log"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send one command and wait for its answer; events that come first are kept."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next(f"answer to {method}")
            if answer.get("id") == self._number:
                assert "error" not in answer, f"{method}: {answer['error']}"
                result: dict[str, Any] = answer["result"]
                return result

    def show(self, url: str, width: int = 1280, dark: bool = False) -> Page:
        """Load ``url`` in a window ``width`` CSS pixels wide and wait until all of it is there."""
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=width < 600
        )
        scheme = "dark" if dark else "light"
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.page = Page()
        self.call("Page.navigate", url=url)
        while self.evaluate("document.readyState") != "complete" or self.evaluate("location.href") != url:
            time.sleep(0.02)
        return self.page

    def evaluate(self, expression: str) -> Any:
        """The value of a JavaScript expression on the page."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def pdf(self) -> bytes:
        """The page as it prints on A4."""
        return base64.b64decode(
            self.call("Page.printToPDF", paperWidth=8.27, paperHeight=11.69, preferCSSPageSize=False)["data"]
        )

    def close(self) -> None:
        """End the process; its pipes close with it."""
        self.process.terminate()
        self.process.wait(timeout=PATIENCE_S)
        os.close(self._write)
        os.close(self._read)

    def _next(self, what: str) -> dict[str, Any]:
        deadline = time.monotonic() + PATIENCE_S
        while b"\0" not in self._pending:
            ready, _, _ = select.select([self._read], [], [], max(0.0, deadline - time.monotonic()))
            piece = os.read(self._read, 1 << 20) if ready else b""
            assert piece, f"no {what} from the browser (exit code {self.process.poll()})"
            self._pending += piece
        line, self._pending = self._pending.split(b"\0", 1)
        message: dict[str, Any] = json.loads(line)
        self._keep(message.get("method", ""), message.get("params", {}))
        return message

    def _keep(self, method: str, event: dict[str, Any]) -> None:
        if method == "Network.requestWillBeSent":
            self.page.requests.append(event["request"]["url"])
        elif method == "Runtime.consoleAPICalled":
            self.page.console.append(str(event["args"]))
        elif method == "Runtime.exceptionThrown":
            self.page.console.append(str(event["exceptionDetails"]))
        elif method == "Log.entryAdded":
            self.page.console.append(event["entry"]["text"])


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """A running Chromium; tests that need it are skipped where there is none."""
    program = next((found for name in NAMES if (found := shutil.which(name))), None)
    if program is None:
        pytest.skip(f"no Chromium here ({', '.join(NAMES)}); on Debian: apt-get install chromium")
    opened = Browser(program, tmp_path_factory.mktemp("chromium"))
    try:
        yield opened
    finally:
        opened.close()
