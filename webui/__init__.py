"""The web page of the bench and its HTTP API. It reads the store and asks the agent; it never
opens a drive."""
