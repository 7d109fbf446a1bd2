"""`flask data migrate`: what it says, and what it does with settings."""

from __future__ import annotations

import re
from pathlib import Path

from chat.context.knowledge import close_knowledge
from database.accounts.audit import list_acts
from database.accounts.listing import list_accounts
from database.accounts.users import create_user
from database.connection import close_store, open_store
from server import create_app
from settings import load_settings
from tests.postgresql import PostgreSQLServer

ADA = "ada@example.org"


def test_a_store_is_moved_by_command_with_a_report(postgresql_server: PostgreSQLServer, tmp_path: Path) -> None:
    environ = {f"ANAPHORA_{role}_MODEL": "none" for role in ("MAIN", "CHEAP", "EMBEDDING")}
    settings = load_settings({**environ, "ANAPHORA_DATA_DIR": str(tmp_path)}, env_file=tmp_path / "no.env")
    runner = create_app(settings).test_cli_runner()
    create_user(database=open_store(settings.users_dir), user_email=ADA, password="correct horse battery")
    url = postgresql_server.empty_database()
    try:
        dry = runner.invoke(args=["data", "migrate", "--to", url, "--dry-run"])
        assert dry.exit_code == 0, dry.output
        assert re.search(r"^conversations +users +1$", dry.output, re.MULTILINE)
        assert "is empty: all this would be copied there." in dry.output
        assert re.match(rf"From sqlite://{tmp_path} to postgresql\+psycopg://\S+\.\n", dry.stderr)
        relative = runner.invoke(args=["data", "migrate", "--from", url, "--to", "sqlite:///anaphora-back"])
        assert (relative.exit_code, "Give the whole path" in relative.output) == (1, True)
        assert not Path("/anaphora-back").exists()
        moved = runner.invoke(args=["data", "migrate", "--to", url])
        assert moved.exit_code == 0, moved.output
        assert "Copying users: 1 of 1," in moved.stderr
        assert re.search(r"^conversations +users +1  [0-9a-f]{16}$", moved.stdout, re.MULTILINE)
        assert moved.stdout.endswith(", and equal.\n")
        rows = int(re.findall(r"^([\d,]+) rows in", moved.stdout, re.MULTILINE)[0].replace(",", ""))
        back = ["data", "migrate", "--from", url, "--to", f"sqlite://{tmp_path}"]
        refused = runner.invoke(args=back)
        assert refused.exit_code == 1
        assert f"sqlite://{tmp_path} holds data already (conversations: " in refused.output
        assert runner.invoke(args=["data", "migrate", "--to", "mysql://h/d"]).exit_code == 1
        served = load_settings({**environ, "ANAPHORA_DATA_DIR": str(tmp_path), "DATABASE_URL": url})
        close_store(settings.users_dir)
        create_app(served)
        store = open_store(settings.users_dir)
        accounts, _ = list_accounts(database=store, limit=10)
        assert [row["user_email"] for row in accounts] == [ADA]
        (act,) = list_acts(database=store, limit=10)
        assert (act["act"], act["door"]) == ("store_moved", "command line")
        assert (act["subject"], act["details"]) == (f"sqlite://{tmp_path}", {"rows": rows})
    finally:
        close_knowledge(settings.users_dir)
        close_store(settings.users_dir)
