"""What the witness says of the CPUs: the pace of each session, and what is left of its time at one pace for all."""
