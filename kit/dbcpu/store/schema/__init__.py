"""The results store's tables, and how an older store becomes a newer one (Alembic)."""

HEAD = "0003"
"""The newest revision in versions/. Kept here so that a current store is opened without loading Alembic."""

READABLE = ("0001", "0002")
"""Older revisions whose runs are read as they are, where a store cannot be written to: they lack only other tables."""

WITHOUT_FIGURES = ("0001",)
"""Those of them that have no figures yet."""

VERSION_TABLE = "dbcpu_schema_version"
"""Not Alembic's usual name: a shared database may hold other programs' tables."""
