"""`python -m benchstick`: the command line."""

from benchstick.cli import main

main()
