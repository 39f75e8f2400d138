"""Many hosts, each measured once or more by one plan: how do they rank, and which is unlike its twins? Pure.

``hosts`` is what is known of each, ``twins`` finds those that are slower or faster than hosts like them, ``kinds`` says
how far hosts of one kind are apart.
"""
