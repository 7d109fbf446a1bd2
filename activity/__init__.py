"""Everything that happens is an activity: messages, calls of tools, events, changes, moves in games.

`recipes` says what kinds there are, and how each is shown; `posting` stores activities, `resolving` finds them by their
ids, `threads` reads what belongs together.
"""
