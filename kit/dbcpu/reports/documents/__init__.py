"""One file per kind of document, built from an analysis."""
