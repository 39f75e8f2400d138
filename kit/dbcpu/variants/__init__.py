"""Settings under which the same levels are measured again: one file each, pure planners."""
