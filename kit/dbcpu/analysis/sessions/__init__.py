"""When each session ran, and whether it counts: its times, its answer, and its work."""
