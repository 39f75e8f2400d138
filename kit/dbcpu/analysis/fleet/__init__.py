"""Many hosts and one plan: who is unlike its twins, do those of a type differ, who is fastest for what. Pure."""
