"""Pictures of one run: slowed sessions, how much, where and to what."""
