"""Benches: what dbcpu costs and how exact it is, on this machine, as ratios measured in one run.

``shell/bench`` runs them all; each module but the frame (pairs, report, rounds, server) is one.
They are no tests: a busy machine gives other figures, and no figure here fails a build.
"""
