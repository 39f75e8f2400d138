"""Forms in which an analysed run is shown."""
