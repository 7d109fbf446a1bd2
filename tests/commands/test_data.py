"""Backing up, restoring, verifying and indexing anew from the command line."""

from __future__ import annotations

import os
import threading
import zipfile
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest
from click.testing import CliRunner
from flask.cli import FlaskGroup
from sqlalchemy import update

from attachments.storage import Attachments
from chat.context.knowledge import close_knowledge, knowledge_in
from chat.runtime.startup import held_data_folder
from database.accounts.audit import list_acts
from database.accounts.users import create_user
from database.connection import close_store, open_store
from database.conversations.listing import list_conversations
from database.conversations.repository import create_conversation
from database.engine.errors import DatabaseDamagedError, StorageFailedError
from database.engine.postgresql import _SERVER_LOCK
from database.history.reading import list_messages
from database.schema import conversations
from database.search.indexing import index_pending
from database.search.owned import INDEXES
from database.turns.turns import accept_turn, finish_turn
from portability import engines
from portability.backup import back_up
from search.messages import search_messages
from search.query import parse_query
from server import create_app
from settings import Settings, load_settings
from tests.database.owned_texts import store_text
from tests.postgresql import PostgreSQLServer
from vault.documents import Vault, Vaults
from vault.errors import VaultUnavailableError

ADA = "ada@example.org"


class Installation:
    """A data folder and its command line."""

    def __init__(self, folder: Path, *, database_url: str = "") -> None:
        self.folder = folder
        self.environ = {f"ANAPHORA_{role}_MODEL": "none" for role in ("MAIN", "CHEAP", "EMBEDDING")}
        self.environ |= {"ANAPHORA_DATA_DIR": str(folder), "DATABASE_URL": database_url}
        self.settings: Settings = load_settings(self.environ, env_file=folder / "no.env")
        self.users_dir = self.settings.users_dir
        self._runner = create_app(self.settings, serves=False).test_cli_runner()

    @property
    def own(self) -> dict[str, Any]:
        """Whose things are read and written."""
        return {"database": open_store(self.users_dir), "user_email": ADA}

    def run(self, *arguments: object) -> Any:
        """What `flask data …` says."""
        return self._runner.invoke(args=["data", *map(str, arguments)])

    def say(self, text: str) -> str:
        """Have one turn in a conversation of its own; the conversation."""
        conversation_id = create_conversation(**self.own, domain="assistant").conversation_id
        own = {**self.own, "conversation_id": conversation_id}
        turn = accept_turn(**own, text=text, config={})
        ending = {"text": "Indeed", "status": "complete", "config": {}, "title": "Talk"}
        finish_turn(**own, response_message_id=turn.response_message_id, **ending)
        return conversation_id

    def remember(self, statement: str) -> None:
        """Add a memory."""
        result = knowledge_in(self.users_dir).for_user(ADA).add_claim(statement, "fact", "work", auto_extract=False)
        assert result.success, result.errors

    def texts(self) -> set[str]:
        """What was asked in all conversations."""
        rows, _ = list_conversations(**self.own, domain="assistant")
        told = (list_messages(**self.own, conversation_id=row.conversation_id) for row in rows)
        return {messages[0].text for messages in told if messages}

    def memories(self) -> list[str]:
        """What is remembered."""
        return [row[0] for row in knowledge_in(self.users_dir).database().select("SELECT statement FROM claims")]

    def found(self, words: str) -> list[str]:
        """The messages that a search finds."""
        return [found.message.text for found in search_messages(**self.own, query=parse_query(words)).messages]

    def vault(self) -> Vault:
        """Ada's documents."""
        return Vaults(database=open_store(self.users_dir)).of(ADA)

    def close(self) -> None:
        """Let go of the files."""
        close_knowledge(self.users_dir)
        close_store(self.users_dir)


@pytest.fixture
def install(tmp_path: Path) -> Iterator[Callable[[str], Installation]]:
    """A new data folder of a name."""
    made: list[Installation] = []

    def install(name: str, *, database_url: str = "") -> Installation:
        made.append(Installation(tmp_path / name, database_url=database_url))
        return made[-1]

    yield install
    for each in made:
        each.close()


@pytest.fixture
def lived_in(install: Callable[[str], Installation]) -> Installation:
    """One with a conversation and a memory."""
    data = install("data")
    data.say("What do whales sing?")
    data.remember("Whales sing at night")
    index_pending(database=open_store(data.users_dir))
    return data


def test_what_is_backed_up_is_what_is_restored(lived_in: Installation, install: Any, tmp_path: Path) -> None:
    made = lived_in.run("backup", tmp_path)
    assert made.exit_code == 0, made.output
    (file,) = tmp_path.glob("anaphora-*.zip")
    assert str(file) in made.output
    assert file.stat().st_mode & 0o077 == 0
    other = install("other")
    restored = other.run("restore", file)
    assert restored.exit_code == 0, restored.output
    assert other.texts() == {"What do whales sing?"}
    assert other.memories() == ["Whales sing at night"]
    assert other.found("whales") == ["What do whales sing?"]
    assert (other.folder / "secret_key").read_bytes() == (lived_in.folder / "secret_key").read_bytes()
    assert {path.name for path in other.folder.iterdir()} == {"users", "secret_key", "server.lock"}
    assert other.run("verify").exit_code == 0
    (act,) = list_acts(database=open_store(other.users_dir), limit=10)
    assert (act["act"], act["door"], act["subject"]) == ("store_restored", "command line", file.name)
    assert act["details"]["made"] in restored.output


@pytest.mark.parametrize("days", ["nan", "inf", "-1", "1e300", "36501"])
def test_what_is_no_number_of_days_is_refused(lived_in: Installation, days: str) -> None:
    refused = lived_in.run("forget", f"--older-than-days={days}")
    assert (refused.exit_code, "Invalid value for '--older-than-days'" in refused.output) == (2, True)


def test_without_options_the_conversations_of_all_people_and_domains_get_their_ids(lived_in: Installation) -> None:
    database = open_store(lived_in.users_dir)
    for email in (ADA, "bob@example.org"):
        create_user(database=database, user_email=email, password="correct horse battery")
    for email, domain in ((ADA, "search"), ("bob@example.org", "assistant")):
        own = {"database": database, "user_email": email}
        own["conversation_id"] = create_conversation(**own, domain=domain).conversation_id
        turn = accept_turn(**own, text="Of old", config={})
        ending = {"text": "Indeed", "status": "complete", "config": {}, "title": "Talk"}
        finish_turn(**own, response_message_id=turn.response_message_id, **ending)
    database.write(lambda connection: connection.execute(update(conversations).values(conversation_friendly_id=None)))
    done = lived_in.run("backfill", "--email", ADA, "--domain", "search")
    assert done.output == "1 conversations were given what they lacked.\n"
    done = lived_in.run("backfill")
    left = len(lived_in.texts())
    assert (done.exit_code, done.output) == (0, f"{left + 1} conversations were given what they lacked.\n")
    assert lived_in.run("backfill").output.startswith("0 ")


def test_an_argument_that_is_not_utf_8_is_told_in_one_line(lived_in: Installation) -> None:
    create_user(**lived_in.own, password="correct horse battery")
    refused = lived_in.run("backfill", "--email", ADA, "--domain", "\udcff")
    assert (refused.exit_code, refused.output) == (2, "Error: An argument is not UTF-8.\n")


@pytest.fixture
def databases(postgresql_server: PostgreSQLServer) -> Callable[[], str]:
    """Makes PostgreSQL databases without a store."""
    return postgresql_server.empty_database


def holds(installation: Installation, asked: set[str]) -> None:
    """Check that a person's conversations, memories and documents are there and found, and nothing is wrong."""
    verified = installation.run("verify")
    assert verified.exit_code == 0, verified.output
    index_pending(database=open_store(installation.users_dir))
    assert installation.texts() == asked
    assert installation.memories() == ["Whales sing at night"]
    assert installation.found("whales") == ["What do whales sing?"]
    assert installation.vault().read("note.md").text == "Of whales"
    verified = installation.run("verify")
    assert verified.exit_code == 0, verified.output


def test_what_is_backed_up_is_restored_into_either_kind_of_database(
    install: Any, databases: Callable[[], str], tmp_path: Path
) -> None:
    data = install("data", database_url=databases())
    create_user(**data.own, password="correct horse battery")
    data.say("What do whales sing?")
    data.remember("Whales sing at night")
    data.vault().write("note.md", "Of whales")
    file = tmp_path / "backup.zip"
    made = data.run("backup", file)
    assert made.exit_code == 0, made.output
    data.say("And dolphins?")  # afterwards, so not in it
    for name, url in (("files", ""), ("database", databases())):
        other = install(name, database_url=url)
        restored = other.run("restore", file)
        assert restored.exit_code == 0, restored.output
        holds(other, {"What do whales sing?"})
        assert [each["act"] for each in list_acts(database=open_store(other.users_dir), limit=10)] == ["store_restored"]
        assert other.say("And seals?")
        other.close()
        again = install(f"{name} again", database_url=databases())
        assert install(name, database_url=url).run("backup", tmp_path / f"{name}.zip").exit_code == 0
        assert again.run("restore", tmp_path / f"{name}.zip").exit_code == 0
        holds(again, {"What do whales sing?", "And seals?"})


def test_what_a_database_holds_is_kept_as_a_backup_where_another_one_is_restored(
    lived_in: Installation, install: Any, databases: Callable[[], str], tmp_path: Path
) -> None:
    file = back_up(lived_in.folder, tmp_path / "backup.zip")
    other = install("other", database_url=databases())
    create_user(**other.own, password="correct horse battery")
    other.say("What do dolphins say?")
    refused = other.run("restore", file)
    assert (refused.exit_code, "holds data already; --force puts it aside" in refused.output) == (1, True)
    with closing(psycopg.connect(driver_url(other))) as server:
        server.execute("SELECT pg_advisory_lock_shared(%s)", [_SERVER_LOCK])
        held = other.run("restore", file, "--force")
    assert (held.exit_code, "A server works on" in held.output) == (1, True)
    assert other.texts() == {"What do dolphins say?"}

    restored = other.run("restore", file, "--force")
    assert restored.exit_code == 0, restored.output
    assert other.texts() == {"What do whales sing?"}
    (kept,) = (kept for kept in other.folder.glob("before-restoring-*/anaphora-*.zip"))
    before = install("before")
    assert before.run("restore", kept).exit_code == 0
    assert before.texts() == {"What do dolphins say?"}


def test_a_restore_into_a_database_that_broke_off_is_done_again_and_nothing_serves_before(
    lived_in: Installation, install: Any, databases: Callable[[], str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = back_up(lived_in.folder, tmp_path / "backup.zip")
    other = install("other", database_url=databases())

    def break_off(*_arguments: object) -> None:
        raise StorageFailedError("The power is gone.")

    with monkeypatch.context() as broken:
        broken.setattr(engines, "renew_statistics", break_off)
        assert "The power is gone." in other.run("restore", file).output
    other.close()
    with pytest.raises(StorageFailedError, match="is being filled from another one"):
        create_app(other.settings)
    group, runner = FlaskGroup(create_app=lambda: create_app(other.settings)), CliRunner()
    half = runner.invoke(group, ["data", "backup", str(tmp_path / "half.zip")])
    assert (half.exit_code, (tmp_path / "half.zip").exists()) == (1, False)
    done = runner.invoke(group, ["data", "restore", str(file), "--force"])
    assert done.exit_code == 0, done.output
    assert other.texts() == {"What do whales sing?"}


def test_rows_of_a_database_are_verified_too(install: Any, databases: Callable[[], str]) -> None:
    data = install("data", database_url=databases())
    create_user(**data.own, password="correct horse battery")
    conversation_id = data.say("What do whales sing?")
    data.remember("Whales sing at night")
    assert data.run("verify").exit_code == 0
    with closing(psycopg.connect(driver_url(data), autocommit=True)) as server:
        server.execute("UPDATE anaphora.messages SET ordinal = 7 WHERE ordinal = 2")
        server.execute('UPDATE anaphora."UserToConversationId" SET message_count = 9')
    looked = data.run("verify", "--repair")
    assert looked.exit_code == 1
    assert looked.output.count(conversation_id) >= 2
    assert "repaired" not in looked.output
    assert {path.name for path in data.folder.iterdir()} <= {"users", "secret_key", "server.lock", "commands.lock"}


def driver_url(installation: Installation) -> str:
    """The address of its database, as the driver takes it."""
    return installation.environ["DATABASE_URL"].replace("postgresql+psycopg", "postgresql", 1)


def test_a_store_that_is_compacted_is_in_the_audit_log(lived_in: Installation) -> None:
    compacted = lived_in.run("compact")
    assert compacted.exit_code == 0, compacted.output
    (act,) = list_acts(database=open_store(lived_in.users_dir), limit=10)
    before, after = act["details"]["bytes"]
    assert act["act"] == "store_compacted"
    assert before > after > 0  # what was still in the logs is counted, too
    assert compacted.output == f"{before / 1e6:.1f} MB became {after / 1e6:.1f} MB.\n"


def test_documents_and_their_index_are_backed_up_and_restored_together(
    lived_in: Installation, install: Any, tmp_path: Path
) -> None:
    create_user(database=open_store(lived_in.users_dir), user_email=ADA, password="correct horse battery")
    vault = lived_in.vault()
    vault.write("garden/plan.md", "# Plan\n\nTomatoes, see [[soil]].")
    vault.write("soil.md", "Loam.")
    vault.write("old.md", "Nettles.")
    kept_at = vault.delete("old.md")
    (vault.root / "way out.md").symlink_to(tmp_path / "elsewhere.md")
    file = back_up(lived_in.folder, tmp_path / "backup.zip")
    vault.write("later.md", "Not in it.")

    other = install("other")
    restored = other.run("restore", file)
    assert restored.exit_code == 0, restored.output
    there = other.vault()
    before = vault.documents(limit=10).documents
    assert there.documents(limit=10).documents == [entry for entry in before if entry.path != "later.md"]
    assert there.read("garden/plan.md") == vault.read("garden/plan.md")
    assert (there.root / kept_at).read_text() == "Nettles."
    assert (there.root / "soil.md").stat().st_mode & 0o077 == 0
    assert not (there.root / "way out.md").is_symlink()
    assert [(part.seen, part.total, part.written, part.removed) for part in there.refresh()] == [(2, 2, 0, 0)]
    assert there.resolve("[[soil]]").path == "soil.md"
    assert other.run("verify").output == "Nothing is wrong.\n"


def test_documents_that_differ_from_their_index_are_told_and_indexed_anew(lived_in: Installation) -> None:
    create_user(database=open_store(lived_in.users_dir), user_email=ADA, password="correct horse battery")
    vault = lived_in.vault()
    for name in ("same.md", "other.md", "gone.md"):
        vault.write(name, "text")
    state = (vault.root / "other.md").stat()
    (vault.root / "other.md").write_text("TEXT")
    os.utime(vault.root / "other.md", ns=(state.st_atime_ns, state.st_mtime_ns))
    (vault.root / "gone.md").unlink()
    (vault.root / "new.md").write_text("new")
    (vault.root.parent / "nobody").mkdir()
    looked = lived_in.run("verify")
    assert f"vaults: index of documents: {ADA}: gone.md is in the index, and its file can't be read." in looked.output
    assert f"{ADA}: new.md is not in the index." in looked.output
    assert f"{ADA}: other.md says something else than the index." in looked.output
    assert "same.md" not in looked.output
    assert "nobody belongs to no account." in looked.output
    assert "4 findings. --repair makes 3 of them anew." in looked.output
    repaired = lived_in.run("verify", "--repair")
    assert "repaired: 3 documents were indexed anew." in repaired.output
    assert "1 findings." in repaired.output
    (vault.root.parent / "nobody").rmdir()
    assert lived_in.run("verify").output == "Nothing is wrong.\n"


def test_files_of_messages_that_are_missing_changed_or_nobodys_are_told(lived_in: Installation) -> None:
    create_user(database=open_store(lived_in.users_dir), user_email=ADA, password="correct horse battery")
    files = Attachments(database=open_store(lived_in.users_dir))

    def stored(name: str) -> Path:
        with files.receiving() as received:
            received.write_text(f"The text of {name}")
            return files.original(files.store(ADA, received, name=name))

    stored("same.txt")
    assert lived_in.run("verify").output == "Nothing is wrong.\n"
    stored("gone.txt").unlink()
    changed = stored("changed.txt")
    changed.write_text("Something else")
    (changed.parent.parent / "orphan").mkdir()
    (files.folder / "nobody").mkdir()
    looked = lived_in.run("verify")
    assert looked.exit_code == 1
    assert f"attachments: files of messages: {ADA}: the file 'gone.txt'" in looked.output
    assert " is missing." in looked.output
    assert f"the file 'changed.txt' ({changed.parent.name}) has another content than was stored." in looked.output
    assert "orphan is a file that no row names." in looked.output
    assert "nobody belongs to no account." in looked.output
    assert "same.txt" not in looked.output
    assert "4 findings." in looked.output


def test_with_postgresql_documents_and_files_of_messages_are_verified(
    postgresql_server: PostgreSQLServer, tmp_path: Path
) -> None:
    url = postgresql_server.empty_store()
    environ = {f"ANAPHORA_{role}_MODEL": "none" for role in ("MAIN", "CHEAP", "EMBEDDING")}
    environ |= {"ANAPHORA_DATA_DIR": str(tmp_path), "DATABASE_URL": url}
    settings = load_settings(environ, env_file=tmp_path / "no.env")
    runner = create_app(settings).test_cli_runner()
    database = open_store(settings.users_dir)
    try:
        create_user(database=database, user_email=ADA, password="correct horse battery")
        files = Attachments(database=database)
        originals = []
        for name in ("gone.txt", "damaged.txt", "same.txt"):
            with files.receiving() as received:
                received.write_text(f"The text of {name}")
                originals.append(files.original(files.store(ADA, received, name=name)))
        vault = Vaults(database=database).of(ADA)
        vault.write("note.md", "text")
        fine = runner.invoke(args=["data", "verify"])
        assert (fine.exit_code, "Nothing is wrong." in fine.output) == (0, True), fine.output
        originals[0].unlink()
        originals[1].write_bytes(originals[1].read_bytes()[:-1])
        (vault.root / "note.md").unlink()
        looked = runner.invoke(args=["data", "verify", "--repair"])
        assert looked.exit_code == 1
        assert f"attachments: files of messages: {ADA}: the file 'gone.txt'" in looked.output
        assert f"the file 'damaged.txt' ({originals[1].parent.name}) has another content" in looked.output
        assert "same.txt" not in looked.output
        assert f"{ADA}: note.md is in the index, and its file can't be read." in looked.output
        assert "repaired: 1 documents were indexed anew." in looked.output
        assert "2 findings." in looked.output
    finally:
        close_knowledge(settings.users_dir)
        close_store(settings.users_dir)
        postgresql_server.take_back(url)


def test_a_vault_that_is_not_there_keeps_its_index_and_is_told(lived_in: Installation) -> None:
    create_user(database=open_store(lived_in.users_dir), user_email=ADA, password="correct horse battery")
    vault = lived_in.vault()
    vault.write("note.md", "text")
    vault.root.rename(lived_in.folder / "unmounted")
    with pytest.raises(VaultUnavailableError):
        list(vault.refresh())
    looked = lived_in.run("verify")
    assert f"vaults: vaults: The folder of {ADA}'s 1 documents is not there." in looked.output
    (lived_in.folder / "unmounted").rename(vault.root)
    assert lived_in.run("verify").output == "Nothing is wrong.\n"


def test_a_backup_is_whole_while_people_write(lived_in: Installation, install: Any, tmp_path: Path) -> None:
    enough = threading.Event()
    said = []

    def talk() -> None:
        while not enough.is_set():
            said.append(lived_in.say(f"Number {len(said)}"))

    talking = threading.Thread(target=talk)
    talking.start()
    try:
        for number in range(3):
            back_up(lived_in.folder, tmp_path / f"{number}.zip")
    finally:
        enough.set()
        talking.join()
    other = install("other")
    assert other.run("restore", tmp_path / "2.zip").exit_code == 0
    kept = other.texts() - {"What do whales sing?"}
    assert kept == {f"Number {number}" for number in range(len(kept))}
    index_pending(database=open_store(other.users_dir))
    assert "Nothing is wrong" in other.run("verify").output


def test_a_store_in_which_nobody_has_anything_is_no_backup_and_named_as_empty(install: Any, tmp_path: Path) -> None:
    """A mistyped data folder, or a timer that runs elsewhere, makes an empty store: a backup of it is none."""
    mistyped = install("mistyped")
    refused = mistyped.run("backup", tmp_path / "nightly.zip")
    assert refused.exit_code == 1
    assert f"sqlite://{mistyped.folder.resolve()} holds no account" in refused.output
    assert "ANAPHORA_DATA_DIR" in refused.output
    assert not (tmp_path / "nightly.zip").exists()
    assert "holds no account" in mistyped.run("verify").output
    create_user(database=open_store(mistyped.users_dir), user_email=ADA, password="correct horse battery")
    assert mistyped.run("backup", tmp_path / "nightly.zip").exit_code == 0
    assert mistyped.run("verify").output == "Nothing is wrong.\n"


def test_what_is_left_of_a_folder_without_its_accounts_is_saved(lived_in: Installation, tmp_path: Path) -> None:
    close_store(lived_in.users_dir)
    for file in Path(lived_in.users_dir).glob("users.db*"):
        file.unlink()
    saved = lived_in.run("backup", tmp_path / "left.zip")
    assert saved.exit_code == 0, saved.output
    with zipfile.ZipFile(tmp_path / "left.zip") as archive:
        assert "users/pkb.sqlite" in archive.namelist()


def test_a_file_that_is_there_is_replaced_only_by_force(lived_in: Installation, tmp_path: Path) -> None:
    file = tmp_path / "mine.zip"
    file.write_text("precious")
    refused = lived_in.run("backup", file)
    assert (refused.exit_code, file.read_text()) == (1, "precious")
    assert "--force" in refused.output
    assert lived_in.run("backup", file, "--force").exit_code == 0
    assert zipfile.is_zipfile(file)
    assert {path.name for path in tmp_path.iterdir()} == {"data", "mine.zip"}
    assert lived_in.run("backup", tmp_path / "nowhere" / "x.zip").exit_code == 1


def test_data_that_is_there_is_kept_beside_what_is_restored(lived_in: Installation, tmp_path: Path) -> None:
    file = back_up(lived_in.folder, tmp_path / "backup.zip")
    lived_in.say("Said later")
    refused = lived_in.run("restore", file)
    assert refused.exit_code == 1
    assert "--force" in refused.output
    assert lived_in.texts() == {"What do whales sing?", "Said later"}
    close_knowledge(lived_in.users_dir)
    restored = lived_in.run("restore", file, "--force")
    assert restored.exit_code == 0, restored.output
    assert lived_in.texts() == {"What do whales sing?"}
    (former,) = lived_in.folder.glob("before-restoring-*")
    assert str(former) in restored.output.replace("\n", "")
    assert {path.name for path in former.iterdir()} == {"users", "secret_key"}
    own = {**lived_in.own, "database": open_store(str(former / "users"))}
    assert len(list_conversations(**own, domain="assistant")[0]) == 2
    close_store(own["database"].folder)


def test_nothing_is_restored_under_a_running_server(lived_in: Installation, tmp_path: Path) -> None:
    file = back_up(lived_in.folder, tmp_path / "backup.zip")
    with held_data_folder(lived_in.folder):
        refused = lived_in.run("restore", file, "--force")
    assert refused.exit_code == 1
    assert "server is running" in refused.output
    assert not list(lived_in.folder.glob("before-*"))


def test_a_backup_that_is_broken_or_missing_leaves_everything_as_it_is(lived_in: Installation, tmp_path: Path) -> None:
    file = back_up(lived_in.folder, tmp_path / "backup.zip")
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])
    assert lived_in.run("restore", file, "--force").exit_code == 1
    assert lived_in.run("restore", tmp_path / "missing.zip").exit_code == 2
    assert lived_in.texts() == {"What do whales sing?"}
    assert {path.name for path in lived_in.folder.iterdir()} == {"users", "secret_key", "server.lock"}


def test_a_store_that_cannot_be_opened_is_verified_and_restored(lived_in: Installation, tmp_path: Path) -> None:
    file = back_up(lived_in.folder, tmp_path / "backup.zip")
    lived_in.close()
    for path in (lived_in.folder / "users").glob("users.db*"):
        path.unlink()
    (lived_in.folder / "users" / "users.db").write_bytes(b"garbage" * 1_000)

    # As `flask` does it: the application is made when a command is looked for.
    group, runner = FlaskGroup(create_app=lambda: create_app(lived_in.settings)), CliRunner()
    looked = runner.invoke(group, ["data", "verify"])
    assert looked.exit_code == 1
    assert "users.db: file: users.db can't be read" in looked.output
    assert "Only the commands of `data`, and `version`, are there." in looked.output
    assert runner.invoke(group, ["users", "token"]).exit_code == 2
    compacted = runner.invoke(group, ["data", "compact"])
    assert (compacted.exit_code, compacted.output.count("The stored data is damaged.")) == (1, 2)
    with pytest.raises(StorageFailedError):
        create_app(lived_in.settings)
    restored = runner.invoke(group, ["data", "restore", str(file), "--force"])
    assert restored.exit_code == 0, restored.output
    assert lived_in.texts() == {"What do whales sing?"}


def test_one_bad_byte_in_the_stored_schema_is_told_and_a_backup_put_in_its_place(
    lived_in: Installation, tmp_path: Path
) -> None:
    file = back_up(lived_in.folder, tmp_path / "backup.zip")
    lived_in.close()
    users = lived_in.folder / "users"
    content = bytearray((users / "users.db").read_bytes())
    content[content.index(b"CREATE TABLE messages") + len("CREATE TABLE ")] = 0xFF
    (users / "users.db").write_bytes(content)

    group, runner = FlaskGroup(create_app=lambda: create_app(lived_in.settings)), CliRunner()
    with pytest.raises(DatabaseDamagedError):
        create_app(lived_in.settings)
    looked = runner.invoke(group, ["data", "verify"])
    assert (looked.exit_code, type(looked.exception)) == (1, SystemExit)
    assert "users.db" in looked.output
    kept = runner.invoke(group, ["data", "backup", str(tmp_path)])
    assert (kept.exit_code, type(kept.exception)) == (1, SystemExit)
    assert "damaged" in kept.output
    restored = runner.invoke(group, ["data", "restore", str(file), "--force"])
    assert restored.exit_code == 0, restored.output
    assert lived_in.texts() == {"What do whales sing?"}
    (former,) = lived_in.folder.glob("before-restoring-*")
    assert (former / "users" / "users.db").read_bytes() == content


def test_what_is_wrong_is_told_line_by_line_and_what_is_derived_repaired(lived_in: Installation) -> None:
    damage = 'UPDATE "UserToConversationId" SET message_count = 7'
    open_store(lived_in.users_dir).write(lambda connection: connection.exec_driver_sql(damage).rowcount)
    knowledge_in(lived_in.users_dir).database().execute("INSERT INTO claims_fts(claims_fts) VALUES ('delete-all')")
    looked = lived_in.run("verify")
    assert looked.exit_code == 1
    assert "users.db: counts: Conversation" in looked.output
    assert "pkb.sqlite: index of claims: " in looked.output
    assert "2 findings. --repair makes 2 of them anew." in looked.output
    repaired = lived_in.run("verify", "--repair")
    assert repaired.exit_code == 0, repaired.output
    assert "repaired: 1 conversations were counted anew." in repaired.output
    assert "repaired: The index of claims was made anew." in repaired.output
    assert lived_in.run("verify").output == "Nothing is wrong.\n"


def test_indexes_of_documents_and_files_are_made_anew_and_gone_on_with(lived_in: Installation) -> None:
    database = lived_in.own["database"]

    def held() -> list[int]:
        with database.reading() as connection:
            counts = (
                "SELECT (SELECT COUNT(*) FROM document_terms_docsize), (SELECT COUNT(*) FROM passage_terms_docsize)"
            )
            return list(connection.exec_driver_sql(counts).one())

    for number in range(1, 4):
        database.write(lambda connection, number=number: store_text(connection, number, ADA, "Fish\nwhale"))
    for texts in INDEXES:
        database.write(texts.empty)
    assert held() == [0, 0]
    assert "document_terms is being filled" in lived_in.run("verify").output
    assert lived_in.run("reindex", "--documents").output == "Documents and files are indexed anew.\n"
    assert held() == [3, 3]
    assert "being filled" not in lived_in.run("verify").output
    damage = "INSERT INTO passage_terms(passage_terms) VALUES ('delete-all')"
    database.write(lambda connection: connection.exec_driver_sql(damage).close())
    assert "index of documents and files: " in lived_in.run("verify").output
    lived_in.run("verify", "--repair")
    assert held() == [3, 3]


def test_indexes_made_anew_hold_what_they_held(lived_in: Installation) -> None:
    everything = lived_in.run("reindex")
    assert everything.exit_code == 0, everything.output
    assert "2 messages were indexed anew." in everything.output
    assert "Memories are indexed anew." in everything.output
    assert "Documents and files are indexed anew." in everything.output
    assert "Memories" not in lived_in.run("reindex", "--messages").output
    assert lived_in.run("reindex", "--documents").output == "Documents and files are indexed anew.\n"
    assert "messages" not in lived_in.run("reindex", "--claims").output
    assert lived_in.found("whales") == ["What do whales sing?"]
    assert lived_in.run("verify").exit_code == 0
