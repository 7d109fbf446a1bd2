"""Importing history from elsewhere: where messages of a source stand here, and the job that stores them."""
