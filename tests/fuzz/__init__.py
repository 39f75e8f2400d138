"""Generated input of every kind that dbcpu reads: whatever it is, a sentence and an exit code come out.

A *surface* is a way in (command lines, records, journals, ...); each has a strategy of Hypothesis and a function that
feeds what it draws to the code. ``test_fuzz`` feeds the same inputs each time, about two thousand;
``shell/fuzz`` feeds new ones for as long as it is given, and keeps what it finds in the folder ``found``, made as small
as it can be.
"""
