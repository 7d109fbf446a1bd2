"""Written-down mutations of the functions that everything rests on; each must make a test fail.

`python -m tests.mutations [NAME …]` applies them one by one to a copy of the tree and runs the tests that each names.
"""
