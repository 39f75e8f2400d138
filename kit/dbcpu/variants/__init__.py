"""Host and plan settings that a run can be repeated under."""
