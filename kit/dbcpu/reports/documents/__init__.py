"""What is said: one file per kind of document, built from an analysis."""
