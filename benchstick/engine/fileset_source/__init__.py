"""The sources of a file set: RAM, a generator, another drive."""
