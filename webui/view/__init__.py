"""What the templates get: documents with the texts, links and drawings that a page adds."""
