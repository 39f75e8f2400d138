"""Statistics that know nothing of sessions or hosts."""
