"""Everything that happens is an activity: messages, calls of tools, events, changes, moves in games.

`recipe` says what a recipe is, `recipes` which ones a server has; `posting` stores activities, `resolving` finds them
by their ids and conversations by their names, `threads` reads the activities of a thread.
"""
