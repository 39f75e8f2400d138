"""Runs as tables for analysis with other programs: runs, levels, sessions, executions, residency (docs/data.md)."""
