"""Faults on purpose, and what they leave."""
