"""A run against the earlier ones of its target."""
