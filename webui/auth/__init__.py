"""Who may do what: Host header, session, token, PIN, forged requests."""
