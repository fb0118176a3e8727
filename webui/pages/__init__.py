"""The pages of the web interface and their JSON versions: one Flask blueprint per subject."""
