"""Pure functions of samples and results."""
