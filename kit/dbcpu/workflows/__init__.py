"""One file per use case: each puts measuring, keeping, explaining and reporting together for one command."""
