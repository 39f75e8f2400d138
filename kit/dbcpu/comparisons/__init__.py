"""Forms in which comparisons, sizing answers and published measurements are shown."""
