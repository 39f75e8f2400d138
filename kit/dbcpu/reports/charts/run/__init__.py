"""Charts of one run: which sessions are slowed, by how much, where and why."""
