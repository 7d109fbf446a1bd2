#!/bin/sh
# Prints the path of a Python that is new enough: the project's own where it is made already, else one of the system.
for candidate in .venv/bin/python python3 python3.13 python3.12 python3.11 python3.14 python; do
    if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
        command -v "$candidate"
        exit 0
    fi
done
echo "Anaphora needs Python 3.11 or newer, and found none as python3, python3.11, python3.12 or python3.13 in PATH." >&2
exit 1
