"""How the CPU of a server process is watched."""
