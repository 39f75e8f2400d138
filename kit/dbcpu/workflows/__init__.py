"""One file per use case: each joins measuring, storing, explaining and reporting for one command."""
