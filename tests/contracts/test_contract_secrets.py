"""No file of the project holds a credential that works elsewhere: keys and tokens have forms of their own.

Forms: the documentation of the services that give them out; RFC 7468 (keys in PEM), RFC 7519 (JSON Web Tokens).
Passwords of the tests' own servers have no form, and open nothing.
"""

import gzip
import re
import subprocess
from collections.abc import Iterable
from pathlib import Path

import pytest

from support.paths import ROOT

FORMS: dict[str, tuple[bytes, bytes]] = {
    "private key": (b"PRIVATE KEY", rb"-----BEGIN (?:[A-Z]+ )*PRIVATE KEY(?: BLOCK)?-----\s+[A-Za-z0-9+/]"),
    "AWS access key": (b"AKIA", rb"\bAKIA[A-Z0-9]{16}\b"),
    "AWS secret key": (b"aws", rb"\baws_?secret_?(?:access_?)?key['\"]?\s*[=:]\s*['\"]?[A-Za-z0-9/+]{40}\b"),
    "GitHub token": (b"gh", rb"gh(?:[oprsu]_[A-Za-z0-9]{36}|ithub_pat_[A-Za-z0-9_]{60,})"),
    "GitLab token": (b"glpat-", rb"\bglpat-[A-Za-z0-9_-]{20}"),
    "PyPI token": (b"pypi-AgE", rb"\bpypi-AgE[A-Za-z0-9_-]{50,}"),
    "npm token": (b"npm_", rb"\bnpm_[A-Za-z0-9]{36}\b"),
    "Slack token": (b"xox", rb"\bxox[abeoprs]-[A-Za-z0-9-]{10,}"),
    "Google API key": (b"AIza", rb"\bAIza[A-Za-z0-9_-]{35}\b"),
    "Stripe key": (b"k_live_", rb"\b[rs]k_live_[A-Za-z0-9]{20,}"),
    "key of a language model": (b"sk-", rb"\bsk-(?:ant-|proj-)?[A-Za-z0-9_-]{32,}"),
    "JSON Web Token": (b"eyJ", rb"\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}"),
    "ssh password": (b"sshpass", rb"\bsshpass\s+-p\s*['\"]?[^\s'\"$<]{6,}"),
}
"""What they all hold, and a regular expression, which takes longer: much longer where it does not begin with a text."""
MAX_BYTES = 64 << 20


def found(content: bytes) -> list[str]:
    """Names of the forms that occur."""
    return [name for name, (part, form) in FORMS.items() if part in content and re.search(form, content)]


def content(path: Path) -> bytes:
    """Uncompressed, where it is a gzip file; an archive is one text after the other."""
    if path.suffix != ".gz":
        return path.read_bytes()
    with gzip.open(path) as file:
        return file.read(MAX_BYTES)


def files() -> Iterable[Path]:
    """What would be committed; every file of an unpacked source without git."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=False,
    )
    if listed.returncode == 0:
        paths: Iterable[Path] = (ROOT / name.decode("utf-8", "surrogateescape") for name in listed.stdout.split(b"\0"))
    else:
        paths = (path for path in ROOT.rglob("*") if not any(part.startswith(".") for part in path.parts))
    return (path for path in paths if path.is_file() and not path.is_symlink())


def test_no_file_holds_a_credential() -> None:
    holding = {str(path.relative_to(ROOT)): forms for path in files() if (forms := found(content(path)))}
    assert holding == {}, "take it out of the file and of the history, and have it revoked"


EXAMPLES = {
    "private key": "-----BEGIN OPENSSH PRIVATE" + " KEY-----\nb3BlbnNzaC1rZXktdjEA",
    "AWS access key": "AKIA" + "IOSFODNN7EXAMPLE",
    "AWS secret key": "aws_secret_access_key = " + "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    "GitHub token": "ghp_" + "a1B2" * 9,
    "GitLab token": "glpat-" + "a1B2" * 5,
    "PyPI token": "pypi-AgE" + "a1B2" * 15,
    "npm token": "npm_" + "a1B2" * 9,
    "Slack token": "xoxb-" + "1234567890-abcdef",
    "Google API key": "AIza" + "a1B2c" * 7,
    "Stripe key": "sk_live_" + "a1B2" * 6,
    "key of a language model": "sk-" + "a1B2" * 10,
    "JSON Web Token": ".".join(["eyJ" + "hbGciOiJIUzI1NiJ9", "eyJ" + "zdWIiOiIxMjM0NTY3ODkwIn0", "dozjgNryP4J3jVmN"]),
    "ssh password": "sshpass " + "-p hunter22 ssh db1",
}
"""In two parts, so that this file holds none."""


@pytest.mark.parametrize("form", FORMS)
def test_it_would_be_found(form: str, tmp_path: Path) -> None:
    text = f"before {EXAMPLES[form]} after\n".encode()
    (tmp_path / "plain.txt").write_bytes(text)
    (tmp_path / "packed.gz").write_bytes(gzip.compress(text))
    assert [found(content(path)) for path in sorted(tmp_path.iterdir())] == [[form]] * 2
