"""The HTTP interface, through real requests on a real store."""
