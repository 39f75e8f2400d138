"""No example of Hypothesis has a time limit: a busy machine makes tests slower, and never red."""

from hypothesis import settings

settings.register_profile("no deadline", parent=settings(), deadline=None)
settings.load_profile("no deadline")
