"""The copier: a mirror of a file set by several threads, unbuffered."""
