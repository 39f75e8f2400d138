"""How a comparison is written: one file per format."""
