"""What is done with the sessions of a run: levels one after the other, and other experiments."""
