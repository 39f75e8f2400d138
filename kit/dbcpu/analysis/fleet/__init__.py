"""Many hosts measured by one plan: who is unlike its twins, is a type a lottery, who is fastest for what. Pure."""
