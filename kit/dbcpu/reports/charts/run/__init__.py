"""Pictures of one run: who lost, how much, where and to what."""
