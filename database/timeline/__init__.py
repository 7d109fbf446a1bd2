"""Activities as a timeline: told as they come, posted by people and programs, moved, exported.

What an activity is, and how one is stored, is in `database.activities`.
"""
