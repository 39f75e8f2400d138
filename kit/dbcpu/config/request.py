"""What somebody asked to measure."""

from collections.abc import Mapping
from dataclasses import dataclass, field


# A class of msgspec would show the password in its repr.
@dataclass(frozen=True, slots=True)
class Request:
    """What the user asked to measure: a configured name or URL, resolved.

    ``url`` is a SQLAlchemy URL without password, or ''. ``password`` never leaves this process; its repr is hidden.
    """

    name: str
    kind: str
    url: str = ""
    password: str | None = field(default=None, repr=False)
    options: Mapping[str, str] = field(default_factory=dict)

    def named(self, name: str) -> "Request":
        """The same target under another name."""
        return Request(name, self.kind, self.url, self.password, self.options)

    def with_options(self, **more: str) -> "Request":
        """The same target with these options, too."""
        return Request(self.name, self.kind, self.url, self.password, {**self.options, **more})
