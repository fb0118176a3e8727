"""The SQLite store: the only channel between the bench's processes."""
