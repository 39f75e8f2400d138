"""Targets that are measured from elsewhere: by a dbcpu on another host, or by the shell kit there."""
