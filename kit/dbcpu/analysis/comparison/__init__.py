"""Runs, variants and published figures against each other."""
