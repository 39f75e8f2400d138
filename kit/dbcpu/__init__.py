"""dbcpu: does every database session get the same CPU, and if not, which are slowed, and why?

``import dbcpu`` also gives the Python API, ``dbcpu.api`` (docs/python.md). It is loaded when one of its names is first
used, because the command line imports this package, too (PEP 562).
"""

from typing import TYPE_CHECKING, Any

from dbcpu.record import TOOL_VERSION

if TYPE_CHECKING:
    from dbcpu.api import (
        Analysis,
        Comparison,
        DbcpuError,
        Header,
        Round,
        RunRecord,
        RunSummary,
        SimulatedHost,
        Store,
        analysis_json,
        compare,
        explain,
        one_variant,
        open_store,
        read_record,
        simulate,
        write_record,
    )

__version__ = TOOL_VERSION
__all__ = [
    "Analysis",
    "Comparison",
    "DbcpuError",
    "Header",
    "Round",
    "RunRecord",
    "RunSummary",
    "SimulatedHost",
    "Store",
    "analysis_json",
    "compare",
    "explain",
    "one_variant",
    "open_store",
    "read_record",
    "simulate",
    "write_record",
]


if not TYPE_CHECKING:  # with it, no name would be unknown to a type checker

    def __getattr__(name: str) -> Any:
        if name not in __all__:
            raise AttributeError(f"module 'dbcpu' has no attribute {name!r}")
        from importlib import import_module

        return getattr(import_module("dbcpu.api"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
