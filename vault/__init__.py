"""A person's documents: a folder of Markdown files, read, linked, searched and written.

The files are the truth; what `database.vault` keeps of them is an index, made anew at will. `documents` is the door.
"""
