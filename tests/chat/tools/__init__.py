"""Tools as Python calls them."""
