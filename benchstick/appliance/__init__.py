"""The booted stick around the bench: the stick itself, its store, its screen."""
