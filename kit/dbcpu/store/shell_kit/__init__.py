"""What the scripts of shell/ write, made into records (docs/line-format.md)."""
