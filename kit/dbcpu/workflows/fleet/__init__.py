"""A fleet: one plan over many targets. Each target is measured by a ``dbcpu run`` of its own, as a user would start it.

``inventory`` (config) names the targets, ``order`` decides which comes next, ``engine`` has them measured side by side,
``station`` is what happens where one is measured, ``drive`` goes on until all have ended, ``recover`` finds out how far
a campaign is whose driver was killed. The store (``store.campaigns``) has the state of every target.
"""
