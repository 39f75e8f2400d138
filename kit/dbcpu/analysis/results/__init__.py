"""The answers that the analysis gives, as data."""
