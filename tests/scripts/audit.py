"""Known weaknesses of the packages beside this Python, by pip-audit: ``shell/test -e audit``.

Exit code: 1 where there is one. Where the data cannot be reached that is said, and fails nothing: pip-audit itself
ends with 0 and "No known vulnerabilities found" where the index knows none of the packages.
"""

import json
import subprocess
import sys
from typing import Any

LIMIT_S = 300
OWN = "dbcpu"
ARGUMENTS = ("--format", "json", "--progress-spinner", "off", "--timeout", "15")


def account(report: str) -> tuple[int, str]:
    """Exit code and text for what pip-audit has written as JSON."""
    try:
        packages: list[dict[str, Any]] = json.loads(report)["dependencies"]
    except (ValueError, KeyError, TypeError):
        return 0, "nothing was looked up: pip-audit gave no account; can pypi.org be reached?"
    packages = [package for package in packages if package["name"] != OWN]
    looked_up = [package for package in packages if "skip_reason" not in package]
    weak = [
        f"{package['name']} {package['version']}: {weakness['id']}, "
        f"mended in {', '.join(weakness['fix_versions']) or '?'}"
        for package in looked_up
        for weakness in package["vulns"]
    ]
    lines = [*weak, f"{len(looked_up)} of {len(packages)} packages were looked up, {len(weak)} weaknesses are known"]
    if len(looked_up) < len(packages):
        left_out = [package["name"] for package in packages if "skip_reason" in package]
        lines.append(f"not looked up, so nothing is known of them: {', '.join(left_out)}")
    return int(bool(weak)), "\n".join(lines)


def main() -> int:
    try:
        command = [sys.executable, "-m", "pip_audit", *ARGUMENTS]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        print(f"nothing was looked up: pip-audit did not end within {LIMIT_S} s")
        return 0
    code, text = account(done.stdout)
    print(text)
    if not done.stdout.strip():
        sys.stderr.write(done.stderr[-2000:])
    return code


if __name__ == "__main__":
    sys.exit(main())
