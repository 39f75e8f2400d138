"""A run as a trace for ui.perfetto.dev: a track per session, lanes and counters of the CPUs (docs/trace.md)."""
