"""A process that writes turns into a store that a server serves: `python -m tests.load.other_writer FOLDER EMAIL ID…`.

It prints a JSON line after each commit, so that whoever kills it knows what must be in the store:
`{"conversation", "question"}` for a question, with `"heard"` for a part of its answer, with `"done": true` for its end.
"""

from __future__ import annotations

import json
import os
import sys
import time
from itertools import count
from random import Random
from typing import Any

from sqlalchemy.exc import IntegrityError

from database.connection import open_store
from database.engine.database import Database
from database.engine.errors import StoreError
from database.turns.events import append_events, numbered
from database.turns.leases import renew_leases
from database.turns.turns import AcceptedTurn, accept_turn, finish_turn

WRITER = "the other process"


def main(users_dir: str, user_email: str, *conversations: str) -> None:
    """Write turns until killed."""
    database, rng, owner = open_store(users_dir), Random(os.getpid()), f"writer-{os.getpid()}"
    for number in count():
        own = {"database": database, "user_email": user_email, "conversation_id": rng.choice(conversations)}
        question = f"{WRITER} {os.getpid()} asks {number}"
        try:
            turn = accept_turn(**own, text=question, config={}, owner=owner)
            _answer(turn, own, {"conversation": own["conversation_id"], "question": question}, rng, owner)
        except StoreError:  # the server is answering there, or writing
            time.sleep(0.005)
        except IntegrityError:  # a server that has just started has closed this turn
            continue


def _answer(turn: AcceptedTurn, own: dict[str, Any], told: dict[str, Any], rng: Random, owner: str) -> None:
    database: Database = own["database"]
    _tell(told)
    heard = ""
    for seq in range(1, rng.randrange(2, 12)):
        rows = [(turn.response_message_id, at, event) for at, event in numbered([{"text": f"p{seq} "}], after=seq - 1)]

        def write(connection: Any, rows: Any = rows) -> None:
            append_events(connection, rows)
            renew_leases(connection, owner=owner)

        database.write(write)
        heard += f"p{seq} "
        _tell({**told, "heard": heard})
    ended = {"response_message_id": turn.response_message_id, "text": heard, "status": "complete", "config": {}}
    finish_turn(**own, **ended)
    _tell({**told, "heard": heard, "done": True})


def _tell(line: dict[str, Any]) -> None:
    print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
