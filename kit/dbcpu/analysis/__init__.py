"""Questions put to a record; pure functions, one file per question."""
