"""What is written of a run: its plan, header, rounds, findings and figures."""
