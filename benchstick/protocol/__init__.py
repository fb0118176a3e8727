"""The messages between the page and the bench. The page sends these and reads no table itself.

`bench` lists them, `messages` has the types of their answers, `local` answers from the store in the
web process.
"""
