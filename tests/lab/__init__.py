"""The lab: is a session's cause named rightly? Held against simulated hosts, live sessions and an emulated SMT guest.

``shell/lab`` runs the long forms and writes docs/accuracy.md from what they found; the tests in this folder
are the short forms. ``hidden`` draws hosts at random, ``chance`` counts false alarms, ``live`` and ``causes`` make each
cause on real server processes, ``document`` writes the page.
"""
