"""Where sessions ran, and who ran beside them."""
