"""The throughput curve, and what the host is worth."""
