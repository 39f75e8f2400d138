"""What the user has configured: targets, limits, licence and sizing rules."""
