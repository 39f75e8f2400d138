"""Databases that sessions can be opened on."""
