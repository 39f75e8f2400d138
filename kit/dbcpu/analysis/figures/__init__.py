"""An analysis as figures that everything can read, and the number of the analysis that they are of."""

VERSION = 19
"""Stored figures of another version are not read. Counted up when the figures of any record change (a test sees it)."""
