"""The web process: the application factory, the socket, the sandbox."""
