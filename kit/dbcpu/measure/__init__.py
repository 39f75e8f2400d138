"""From a plan to rounds: sessions, gate, samplers, and what a round is measured with."""
