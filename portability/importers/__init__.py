"""Files that are imported: a module a form."""
