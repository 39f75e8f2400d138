"""What a standby of Data Guard or a True Cache means for a run, and for its licences: pure.

A physical standby may be open read-only, or apply redo: both at once need the Oracle Active Data Guard option, and
starting the apply on an open standby is enough to use it. So the apply is never started where it may not have run.
Source: Oracle Data Guard Concepts and Administration, Opening a Physical Standby Database; Data Guard Broker, EDIT
DATABASE (state), SHOW PLUGGABLE DATABASE; Licensing Information User Manual; Reference, V$DATABASE (OPEN_MODE), V$PDBS;
True Cache User's Guide, Verifying the True Cache Configuration
"""

from dbcpu.record.findings import Finding, noted
from dbcpu.targets.oracle.facts import PHYSICAL_STANDBY, TRUE_CACHE, Facts

LOGICAL_STANDBY = "LOGICAL STANDBY"
MAKES_NO_TABLE = frozenset({PHYSICAL_STANDBY, TRUE_CACHE})
NO_TABLE = (
    "workload logical_io makes a global temporary table, which a physical standby and a True Cache refuse, or from 18c "
    "on may create in their primary database: choose another workload"
)
"""Source: Data Guard Concepts and Administration 18c, Global Temporary Tables on Active Data Guard Instances."""
OPTION = "the Oracle Active Data Guard option"
_APPLIES, _READ_ONLY = "READ ONLY WITH APPLY", "READ ONLY"
_BROKER = (
    "; where Data Guard Broker manages it, by dgmgrl: `edit database NAME set state = 'APPLY-OFF'`, afterwards `edit "
    "database NAME set state = 'APPLY-ON'`. The standby falls behind meanwhile"
)
_STOP_PHYSICAL = (
    ", or stop the apply for the run, in the root of a container database: `alter database recover managed standby "
    "database cancel`, afterwards `alter database recover managed standby database disconnect`" + _BROKER + ". What "
    f"starts it while the database is open uses {OPTION}: without that licence close the standby first"
)
_STOP_LOGICAL = (
    ", or stop the apply for the run, in the root of a container database: `alter database stop logical standby "
    "apply`, afterwards `alter database start logical standby apply immediate`" + _BROKER
)


def finding(facts: Facts) -> Finding | None:
    """None for a primary, a snapshot standby (open read-write, nothing is applied), and where the role is not known.

    Whether it applies redo is known of a physical standby and a True Cache alone: of a logical standby V$DATABASE does
    not say, of a pluggable database that Data Guard protects alone no view that dbcpu reads.
    """
    if facts.pdb_mode == _READ_ONLY:
        return noted("pluggable-read-only", f"the pluggable database {facts.container} is open read-only in a primary")
    if facts.role == TRUE_CACHE:
        return noted("true-cache", f"the instance is a True Cache{_true_cache_applies(facts.open_mode)}")
    if facts.role == LOGICAL_STANDBY:
        applying = "SQL Apply uses CPU where it runs (V$LOGSTDBY_STATE shows it), which was not looked at"
        return _found(facts, applying, _STOP_LOGICAL)
    if facts.role != PHYSICAL_STANDBY:
        return None
    if facts.open_mode == _APPLIES:
        applying = (
            f"it is open while redo is applied, which needs {OPTION} (Licensing Information User Manual); applying "
            "uses CPU too, as much as the primary writes"
        )
        return _found(facts, applying, _STOP_PHYSICAL)
    if facts.open_mode:
        applying = (
            f"no redo is applied while it is open so ({facts.open_mode}); starting the apply without closing it "
            f"uses {OPTION} (Licensing Information User Manual)"
        )
        return _found(facts, applying, "")
    applying = (
        "whether redo is applied is not known: it uses CPU too, and using a standby that is open meanwhile needs "
        f"{OPTION} (Licensing Information User Manual)"
    )
    ask = (
        f"; where the standby is meant, ask first whether {OPTION} is licensed; `OPEN_MODE` of V$DATABASE shows "
        "whether redo is applied"
    )
    return _found(facts, applying, ask)


def _true_cache_applies(open_mode: str) -> str:
    if not open_mode:
        return "; whether it applies redo is not known"
    return (
        ", which applies redo" if open_mode == _APPLIES else f"; no redo is applied while it is open so ({open_mode})"
    )


def _found(facts: Facts, applying: str, stop: str) -> Finding:
    return noted("data-guard-standby", f"the database is a {facts.role.lower()}", applying=applying, stop=stop)
