"""PostgreSQL: sessions over libpq, what every server offers, and a server of the kit's own."""
