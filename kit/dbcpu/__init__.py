"""dbcpu: does every database session get the same CPU, and if not, who lost and why?"""

__version__ = "0.1.0"
