"""The results store's tables, and how an older store becomes a newer one (Alembic)."""

HEAD = "0004"
"""The newest revision in versions/. Kept here so that a current store is opened without loading Alembic."""

READABLE = ("0001", "0002", "0003")
"""Older revisions whose runs are read as they are, where a store cannot be written to: 0001 lacks figures, all lack
campaigns."""

FIGURES, CAMPAIGNS = "0002", "0004"
"""The first revision that has them."""

VERSION_TABLE = "dbcpu_schema_version"
"""Not Alembic's usual name: a shared database may hold other programs' tables."""
