"""Activities: everything that happens, in one order. Messages are activities too.

`storing` gives them their short ids, `threads` their places, `reading` finds them again; `knowledge` stores changes of
memories.
"""
