"""Activities: everything that happens, in one order. Messages are activities too.

`storing` gives them their short ids, `reading` finds them again; `knowledge` stores changes of memories. Their places
in threads are in `database.history.threads`.
"""
