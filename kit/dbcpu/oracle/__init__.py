"""Oracle: what targets/oracle.py is made of. Only ``driver`` imports python-oracledb."""
