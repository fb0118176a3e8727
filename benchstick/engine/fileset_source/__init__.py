"""Where the files of a set come from: RAM, a generator, another drive."""
