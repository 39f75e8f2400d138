"""An Oracle instance of which only the parameters exist."""


class FakeInstance:
    """Parameters of an instance that can be read and set."""

    def __init__(self, cpu_count: str = "16", resource_manager_plan: str = "") -> None:
        self.values = {"cpu_count": cpu_count, "resource_manager_plan": resource_manager_plan}

    def parameter(self, name: str) -> str:
        return self.values[name]

    def set_parameter(self, name: str, value: str) -> None:
        self.values[name] = value
