"""A way to a shell on another host: a command of this machine that hands its input to a ``sh`` there, and back.

What differs between ssh, kubectl, docker, podman and a command of the user's is all in a ``Transport``.
"""

from msgspec import Struct

# The login shell may be any: this is plain to all of them. It takes the script, up to a line with a full stop, from
# standard input without reading a byte more, which "sh -s" does not promise.
BOOTSTRAP = (
    "echo dbcpu-system; uname -s; exec sh -c "
    '\'n=$(printf "\\n_");n=${n%_};s=;while IFS= read -r l;do [ "$l" = . ]&&break;s=$s$l$n;done;eval "$s"\''
)
"""The first command at the far end; nothing is sent after it before it has answered."""

Reasons = tuple[tuple[str, str], ...]
"""A part of what the command says when it fails, in small letters, and the sentence for it; the first that fits."""


class Transport(Struct, frozen=True):
    """One way to one host.

    ``name``: as messages, records and journals call the host; ``over``: which kind of way, as ``RemoteHost.over``.
    ``argv`` is started without a shell. ``takes_input``: it runs what comes on its standard input (``sh -s``); else
    ``argv`` has ``BOOTSTRAP`` in it. ``missing``: what to do where there is no such program here.
    """

    name: str
    over: str
    argv: tuple[str, ...]
    reasons: Reasons
    missing: str
    takes_input: bool = True

    @property
    def program(self) -> str:
        return self.argv[0]

    def reason(self, said: str) -> str:
        """Why the command failed, by what it said; '' where that is not known."""
        small = said.lower()
        return next((reason for mark, reason in self.reasons if mark in small), "")
