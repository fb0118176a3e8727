"""Recipes: what is run on which drives, by which limits a drive passes, and the verdict."""
