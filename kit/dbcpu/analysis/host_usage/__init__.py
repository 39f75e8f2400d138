"""What the host kept from sessions, and who else used it: steal, throttling, pressure, other processes."""
