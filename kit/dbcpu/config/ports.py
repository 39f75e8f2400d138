"""Which numbers are TCP ports that somebody listens at?

Source: RFC 6335, section 6; 0 stands for any, and libpq takes its default for it, so another server.
"""

MAX_PORT = 65_535
PORT_WORDS = f"1 to {MAX_PORT}"


def is_port(number: int) -> bool:
    """Whether a server can be reached there."""
    return 1 <= number <= MAX_PORT
