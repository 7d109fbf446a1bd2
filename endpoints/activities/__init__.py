"""Activities, threads and recipes over HTTP."""
