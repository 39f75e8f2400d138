"""Keeps runs: records as rows of a database, and as JSON files, lossless both ways."""
