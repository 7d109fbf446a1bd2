"""The server before Flask: connections, bodies, threads for each kind of work, streams, and the bridge to WSGI."""
