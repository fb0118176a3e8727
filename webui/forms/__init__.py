"""What comes in: queries, forms and JSON bodies, parsed and checked."""
