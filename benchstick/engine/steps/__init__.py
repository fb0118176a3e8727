"""The steps of a plan, one function for each kind."""
