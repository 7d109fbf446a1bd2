"""One journey in Debian's Firefox and in WebKit. `.ci/run browsers` runs it; `make test` does not."""
