"""Copying whole stores from one kind of database into another: every table, row by row, compared at the end."""
