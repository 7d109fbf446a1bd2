"""`python -m tests.attack.fuzz [--examples N] [--only REGEX]`: Schemathesis against a real server.

It is driven by the server's own description. It fails for a 5xx that is not described, and for any status, media type
or body that the operation doesn't promise.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.fakes import RecordingModel
from tests.live_server import LiveServer

CHECKS = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance"
# These wait for an answer that no model gives, or end the server's own work for everybody.
LEFT_OUT = r"^/(stream/\{message_id\}|events|metrics)$"


def main(arguments: Sequence[str]) -> int:
    """Run it; Schemathesis' exit code: 0 where everything was as described."""
    parser = argparse.ArgumentParser(prog="python -m tests.attack.fuzz", description=__doc__)
    parser.add_argument("--examples", type=int, default=25, help="requests an operation and phase, at most")
    parser.add_argument("--seed", type=int, default=20260208)
    parser.add_argument("--only", default="", metavar="REGEX", help="the paths to ask; all of them by default")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder, RecordingModel().serving() as model:
        server = LiveServer(Path(folder) / "server", model.environ).start()
        try:
            return _run(server, examples=options.examples, seed=options.seed, only=options.only)
        finally:
            server.stop()


def _run(server: LiveServer, *, examples: int, seed: int, only: str) -> int:
    client = server.sign_up()
    conversation_id = client.create_conversation()
    list(client.send(conversation_id, "Something to find."))
    client.post("/pkb/claims", {"statement": "I prefer morning workouts"})
    token = client.post("/api_tokens", {"name": "fuzz"}).json()["token"]
    command = [sys.executable, "-m", "schemathesis.cli", "run", f"{server.url}/openapi.json"]
    options = {
        "--header": f"Authorization: Bearer {token}",
        "--checks": CHECKS,
        "--exclude-path-regex": LEFT_OUT,
        "--max-examples": str(examples),
        "--seed": str(seed),
        "--phases": "examples,coverage,fuzzing",
        "--request-timeout": "60",
    }
    if only:
        options["--include-path-regex"] = only
    listed = [part for option in options.items() for part in option]
    return subprocess.run([*command, *listed, "--no-color"], cwd=server.folder, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
