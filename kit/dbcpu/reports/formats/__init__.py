"""How a document is written: one file per format."""
