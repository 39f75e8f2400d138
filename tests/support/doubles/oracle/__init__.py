"""A test double of an Oracle server on the wire, for the unmodified python-oracledb thin driver. See README.md."""
