"""The SQL that is measured, read from sql/."""
