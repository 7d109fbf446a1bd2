"""Tools over HTTP."""
