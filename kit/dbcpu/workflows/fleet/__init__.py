"""A campaign: one plan over many targets, measured from this machine or by the workers of a cluster."""
