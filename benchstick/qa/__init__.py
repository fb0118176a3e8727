"""QA tests: drives tested with a recipe, one or many, unattended."""
