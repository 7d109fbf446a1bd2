"""Several server processes on one store and one port: who tells whom what, who does what, who counts what."""
