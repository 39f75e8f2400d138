"""Where files of the measured host come from."""
