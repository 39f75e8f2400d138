"""Pictures that compare: runs, variants, published figures and moments beside each other."""
