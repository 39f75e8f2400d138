"""What is written of a run: its plan, header, rounds, findings and figures."""

TOOL_VERSION = "0.1.0"
"""Of the dbcpu that writes them."""
