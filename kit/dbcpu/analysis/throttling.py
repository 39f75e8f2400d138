"""Which part of a control group's throttled time did each of its sessions bear?

The counter belongs to the group and adds up over its CPUs. It is shared out in proportion to the run delay
of the group's sessions, for throttled time is part of run delay, and no session gets more than its own.
"""

from dbcpu.record import Round


def throttled_shares(each: Round) -> dict[int, float]:
    """Throttled seconds by session ordinal; sessions whose run delay is unknown are absent."""
    delays = {session.ordinal: session.run_delay_s for session in each.sessions if session.run_delay_s is not None}
    shares = dict.fromkeys(delays, 0.0)
    for group in each.cgroups:
        members = [ordinal for ordinal in group.sessions if ordinal in delays]
        delayed_s = sum(delays[ordinal] for ordinal in members)
        part = min(1.0, group.throttled_s / delayed_s) if delayed_s > 0 else 0.0
        for ordinal in members:
            # Nested groups throttle at different moments: their shares add up.
            shares[ordinal] = min(delays[ordinal], shares[ordinal] + delays[ordinal] * part)
    return shares
