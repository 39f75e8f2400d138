"""Puts comparisons, sizing answers and published measurements into words and columns, for every form alike."""
