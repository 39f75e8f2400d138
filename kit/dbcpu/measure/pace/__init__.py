"""How fast was each CPU meanwhile? No counter shows it: the witness does, with a small known piece of work.

On a host that others share, a CPU changes its speed: by its clock, and by a stranger on the other thread of its core.
"""

from dbcpu.measure.pace.opening import open_witness
from dbcpu.measure.pace.witness import Paced, PaceWitness

__all__ = ["PaceWitness", "Paced", "open_witness"]
