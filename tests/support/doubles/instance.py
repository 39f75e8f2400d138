"""An Oracle instance of which only the parameters exist."""

from dbcpu.errors import ServerError
from dbcpu.targets.oracle.caging import passes, why_kept


class FakeInstance:
    """Parameters of an instance that can be read and set."""

    def __init__(self, cpu_count: str = "16", resource_manager_plan: str = "", *, several: str = "") -> None:
        """``several``: its name, where it is or may be one of a cluster."""
        self.values = {"cpu_count": cpu_count, "resource_manager_plan": resource_manager_plan}
        self.several = several
        self.ineffective = ""

    def parameter(self, name: str, instance: str = "") -> str:
        self._must_be_here(instance)
        return self.values[name]

    def set_parameter(self, name: str, value: str, instance: str = "") -> None:
        self._must_be_here(instance)
        self.values[name] = value

    def why_kept(self, name: str, value: str) -> str:
        return why_kept(name, value)

    def passes(self, name: str, value: str) -> bool:
        return passes(name, value)

    def without_effect(self, instance: str = "") -> str:
        return self.ineffective

    def next_window(self) -> tuple[str, float] | None:
        return None

    def perhaps_one_of_several(self) -> str:
        return self.several

    def _must_be_here(self, instance: str) -> None:
        if instance and self.several and instance != self.several:
            raise ServerError(f"instance {instance} is not reached: nobody listens there")
