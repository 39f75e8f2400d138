"""What samplers have in common: the meaning of the counters, and polling over a connection."""
