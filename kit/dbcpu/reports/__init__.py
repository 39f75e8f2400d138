"""What is said of runs (documents), how it is written (formats) and drawn (charts)."""
