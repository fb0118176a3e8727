"""Pure functions of samples and figures."""
