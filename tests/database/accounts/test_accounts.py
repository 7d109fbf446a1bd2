"""Accounts, passwords, sessions, API tokens, and patience with whoever guesses."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

import pytest
from argon2 import PasswordHasher, Type, extract_parameters
from sqlalchemy import select, update

from database import schema
from database.accounts import api_tokens, passwords, sessions, throttle, users
from database.accounts.listing import list_accounts
from database.engine import clock
from database.engine.database import Database, Urgency
from database.engine.errors import (
    InvalidChangeError,
    LastAdministratorError,
    SessionNotFoundError,
    TokenNotFoundError,
    UserExistsError,
    UserNotFoundError,
)

pytestmark = pytest.mark.contract

ANN, BEN = "ann@example.org", "ben@example.org"
PASSWORD = "correct horse battery"


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Moves the clock: later(minutes=5)."""
    shift = timedelta()

    def now() -> datetime:
        return datetime.now(UTC) + shift

    def move(**delta: float) -> None:
        nonlocal shift
        shift += timedelta(**delta)

    for module in (clock, sessions, api_tokens, throttle):
        monkeypatch.setattr(module, "now", now)
    return move


@pytest.fixture
def ann(database: Database) -> dict[str, str]:
    users.create_user(database=database, user_email=ANN, password=PASSWORD)
    users.create_user(database=database, user_email=BEN, password=PASSWORD)
    return {"database": database, "user_email": ANN}


def settle(database: Database) -> None:
    """Wait for what is written behind answers."""
    database.write(lambda connection: None, urgency=Urgency.INDEX)


def files_of(database: Database) -> bytes:
    return b"".join(path.read_bytes() for path in database.folder.iterdir())


def test_an_account_lets_in_with_its_password_alone_however_the_address_is_written(ann: dict[str, str]) -> None:
    who = {"database": ann["database"], "user_email": "  Ann@Example.org "}
    found = users.verify_password(**who, password=PASSWORD)
    assert found is not None
    assert (found.user_email, found.is_admin) == (ANN, False)
    assert users.verify_password(**who, password=PASSWORD + " ") is None
    assert users.verify_password(**{**who, "user_email": "no@example.org"}, password=PASSWORD) is None
    assert users.verify_password(**who, password="x" * 1025) is None
    assert users.verify_password(**{**who, "user_email": "\ud800"}, password="\ud800" * 9) is None


class CountingHasher(PasswordHasher):
    """Notes each hash that a password is held against."""

    def __init__(self) -> None:
        super().__init__()
        self.verified: list[str] = []

    def verify(self, hash: str | bytes, password: str | bytes) -> Literal[True]:
        self.verified.append(str(hash))
        return super().verify(hash, password)


@pytest.fixture
def full_cost() -> Iterator[CountingHasher]:
    """Hashes cost what they cost outside of tests."""
    hasher = CountingHasher()
    before = passwords.hash_with(hasher)
    yield hasher
    passwords.hash_with(before)


def test_an_unknown_account_costs_a_hash_like_a_wrong_password(ann: dict[str, str], full_cost: CountingHasher) -> None:
    who = {"database": ann["database"], "password": "x" * 9}
    assert users.verify_password(**who, user_email="no@example.org") is None
    [nobodys] = full_cost.verified
    assert extract_parameters(nobodys) == extract_parameters(full_cost.hash("x"))
    assert users.verify_password(**who, user_email=ANN) is None
    assert len(full_cost.verified) == 2


@pytest.mark.parametrize(("cores", "hashes"), [(1, 1), (2, 1), (3, 1), (4, 2), (64, 32)])
def test_a_burst_of_log_ins_leaves_cores_to_everybody_else(cores: int, hashes: int) -> None:
    assert passwords.most_at_once(cores) == hashes


@pytest.mark.usefixtures("full_cost")
def test_a_password_is_hashed_at_the_cost_that_owasp_recommends_or_more() -> None:
    parameters = extract_parameters(passwords.hash_password(PASSWORD))
    assert parameters.type == Type.ID
    assert (parameters.memory_cost >= 47_104, parameters.time_cost >= 1) == (True, True)


def test_passwords_are_nowhere_in_the_store(ann: dict[str, str]) -> None:
    assert PASSWORD.encode() not in files_of(ann["database"])
    with ann["database"].reading() as connection:
        stored = connection.execute(select(schema.users.c.password_hash)).scalars().all()
    assert all(value.startswith("$argon2id$") for value in stored)
    assert len(set(stored)) == 2


@pytest.mark.usefixtures("full_cost")
def test_a_weaker_hash_of_old_is_replaced_at_the_next_login(ann: dict[str, str]) -> None:
    old = PasswordHasher(time_cost=1, memory_cost=8192).hash(PASSWORD)
    weaken = update(schema.users).values(password_hash=old)
    ann["database"].write(lambda connection: connection.execute(weaken).rowcount)
    for _ in range(2):
        assert users.verify_password(**ann, password=PASSWORD) is not None
    with ann["database"].reading() as connection:
        query = select(schema.users.c.password_hash).where(schema.users.c.user_email == ANN)
        assert not passwords.needs_new_hash(connection.execute(query).scalar_one())


@pytest.mark.parametrize("password", ["", "1234567", "x" * 1025])
def test_a_password_has_a_sensible_length(database: Database, password: str) -> None:
    with pytest.raises(InvalidChangeError):
        users.create_user(database=database, user_email=ANN, password=password)
    assert not users.any_user_exists(database=database)


@pytest.mark.parametrize(
    "email",
    ["", "ann", "@x", "a@", "a b@c.d", "a@b@c", "../a@b.c", ".a@b.c", "a/b@c.d", "a#b@c.d", "a\x00@b.c", "é@b.c",
     "a@b.c" + "d" * 300, "a\ud800@b.c", "a?@b.c", "a%2f@b.c"],
)  # fmt: skip
def test_an_address_that_could_mean_something_in_a_path_is_refused(database: Database, email: str) -> None:
    with pytest.raises(InvalidChangeError):
        users.create_user(database=database, user_email=email, password=PASSWORD)


def test_an_address_has_one_account(ann: dict[str, str]) -> None:
    with pytest.raises(UserExistsError):
        users.create_user(database=ann["database"], user_email=ANN.upper(), password=PASSWORD)


def test_of_several_who_set_up_at_once_one_becomes_the_administrator(database: Database) -> None:
    outcomes: list[str] = []
    together = threading.Barrier(4)

    def set_up(number: int) -> None:
        together.wait()
        try:
            made = users.create_first_user(database=database, user_email=f"u{number}@x.org", password=PASSWORD)
            outcomes.append(f"made {made.is_admin}")
        except UserExistsError:
            outcomes.append("refused")

    threads = [threading.Thread(target=set_up, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcomes) == ["made True", "refused", "refused", "refused"]


def test_details_and_preferences_are_kept_apart_and_only_ones_own(ann: dict[str, str]) -> None:
    users.modify_user_detail(**ann, detail={"text": "I bake"})
    users.modify_user_preference(**ann, preference={"text": "Short answers"})
    assert users.get_user_detail(**ann) == {"text": "I bake"}
    assert users.get_user_preference(**ann) == {"text": "Short answers"}
    assert users.get_user_detail(**{**ann, "user_email": BEN}) == {}
    with pytest.raises(UserNotFoundError):
        users.modify_user_detail(**{**ann, "user_email": "no@example.org"}, detail={})
    with pytest.raises(UserNotFoundError):
        users.get_user(database=ann["database"], user_email="no@example.org")


def test_a_new_password_ends_the_old_one_and_every_session(ann: dict[str, str]) -> None:
    token = sessions.create_session(**ann)
    users.set_password(**ann, password="another good one")
    assert users.verify_password(**ann, password=PASSWORD) is None
    assert users.verify_password(**ann, password="another good one") is not None
    assert sessions.find_session(database=ann["database"], token=token) is None
    with pytest.raises(UserNotFoundError):
        users.set_password(**{**ann, "user_email": "no@example.org"}, password="another good one")


def test_a_password_that_is_set_while_the_old_one_is_hashed_anew_stays(
    ann: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def renewed(_hash: str) -> bool:
        users.set_password(**ann, password="another good one")
        return True

    monkeypatch.setattr(users, "needs_new_hash", renewed)
    users.verify_password(**ann, password=PASSWORD)
    monkeypatch.undo()
    assert users.verify_password(**ann, password=PASSWORD) is None
    assert users.verify_password(**ann, password="another good one") is not None


def test_a_session_begins_only_while_the_account_has_the_password_that_was_proved(ann: dict[str, str]) -> None:
    proved = users.verify_password(**ann, password=PASSWORD)
    begin = {"database": ann["database"], "user_email": ANN}
    sessions.create_session(**begin, password_hash=proved.password_hash)
    users.set_password(**ann, password="another good one")
    with pytest.raises(UserNotFoundError):
        sessions.create_session(**begin, password_hash=proved.password_hash)
    with pytest.raises(UserNotFoundError):
        users.set_password(**ann, password=PASSWORD, proved=proved)
    assert sessions.list_sessions(**ann) == []
    assert PASSWORD not in repr(proved)
    assert proved.password_hash not in repr(proved)


def test_two_logins_that_renew_an_old_hash_at_once_both_begin_a_session(
    ann: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def renewed_by_the_other(known: str) -> bool:
        monkeypatch.undo()
        users._renew_hash(ann["database"], ANN, known, passwords.hash_password(PASSWORD))
        return True

    monkeypatch.setattr(users, "needs_new_hash", renewed_by_the_other)
    proved = users.verify_password(**ann, password=PASSWORD)
    assert sessions.create_session(**ann, password_hash=proved.password_hash)


def test_the_only_administrator_who_can_sign_in_is_not_disabled(ann: dict[str, str]) -> None:
    database = ann["database"]
    for email in ("root@example.org", "grace@example.org"):
        users.create_user(database=database, user_email=email, password=PASSWORD, is_admin=True)
    users.set_disabled(database=database, user_email="root@example.org", disabled=True)
    users.set_disabled(database=database, user_email="root@example.org", disabled=True)
    # As where two administrators disable each other at once: whoever asks is no matter here.
    with pytest.raises(LastAdministratorError):
        users.set_disabled(database=database, user_email="grace@example.org", disabled=True)
    users.set_disabled(database=database, user_email=ANN, disabled=True)
    accounts, _ = list_accounts(database=database, limit=10)
    disabled = {each["user_email"] for each in accounts if each["disabled_at"]}
    assert disabled == {"root@example.org", ANN}


def test_a_disabled_account_gets_in_by_no_door(ann: dict[str, str]) -> None:
    session = sessions.create_session(**ann)
    _, secret = api_tokens.create_token(**ann, name="script")
    disable = update(schema.users).where(schema.users.c.user_email == ANN).values(disabled_at=clock.now_iso())
    ann["database"].write(lambda connection: connection.execute(disable).rowcount)
    assert users.verify_password(**ann, password=PASSWORD) is None
    assert sessions.find_session(database=ann["database"], token=session) is None
    assert api_tokens.find_token(database=ann["database"], token=secret) is None


def test_a_session_is_known_by_a_token_that_the_store_does_not_hold(ann: dict[str, str]) -> None:
    token = sessions.create_session(**ann, user_agent="Firefox", address="127.0.0.1")
    assert sessions.find_session(database=ann["database"], token=token) == ANN
    for wrong in ("", token[:-1], token + "A", "\ud800"):
        assert sessions.find_session(database=ann["database"], token=wrong) is None
    assert token.encode() not in files_of(ann["database"])
    assert len(token) >= 43


def test_sessions_are_listed_and_ended_one_by_one_or_all(ann: dict[str, str]) -> None:
    find = {"database": ann["database"]}
    first, second, third = (sessions.create_session(**ann, user_agent=name) for name in ("a", "b", "c"))
    listed = sessions.list_sessions(**ann, current_token=second)
    assert {row["user_agent"]: row["current"] for row in listed} == {"a": False, "b": True, "c": False}
    first_id = next(row["session_id"] for row in listed if row["user_agent"] == "a")
    sessions.revoke_session(**ann, session_id=first_id)
    assert sessions.find_session(**find, token=first) is None
    assert sessions.revoke_all_sessions(**ann, except_token=second) == 1
    assert sessions.find_session(**find, token=third) is None
    sessions.end_session(**find, token=second)
    assert sessions.list_sessions(**ann) == []


def test_nobody_ends_somebody_elses_session(ann: dict[str, str]) -> None:
    sessions.create_session(**ann)
    ((session_id),) = (row["session_id"] for row in sessions.list_sessions(**ann))
    for wrong in (session_id, "missing"):
        with pytest.raises(SessionNotFoundError):
            sessions.revoke_session(database=ann["database"], user_email=BEN, session_id=wrong)
    assert sessions.revoke_all_sessions(database=ann["database"], user_email=BEN) == 0
    assert len(sessions.list_sessions(**ann)) == 1


def test_a_session_ends_after_thirty_days_and_is_forgotten(ann: dict[str, str], later: Any) -> None:
    token = sessions.create_session(**ann)
    later(days=29)
    assert sessions.find_session(database=ann["database"], token=token) == ANN
    later(days=2)
    assert sessions.find_session(database=ann["database"], token=token) is None
    assert sessions.list_sessions(**ann) == []
    settle(ann["database"])
    sessions.create_session(**ann)
    with ann["database"].reading() as connection:
        assert len(connection.execute(select(schema.sessions.c.session_id)).all()) == 1


def test_that_a_session_is_in_use_is_noted_at_most_once_a_minute(ann: dict[str, str], later: Any) -> None:
    token = sessions.create_session(**ann)
    seen = [sessions.list_sessions(**ann)[0]["last_seen_at"]]
    for minutes in (0.5, 1, 0.5):
        later(minutes=minutes)
        sessions.find_session(database=ann["database"], token=token)
        settle(ann["database"])
        seen.append(sessions.list_sessions(**ann)[0]["last_seen_at"])
    assert seen[0] == seen[1] < seen[2] == seen[3]


def test_a_token_is_told_once_and_recognised_later(ann: dict[str, str]) -> None:
    row, secret = api_tokens.create_token(**ann, name=" backup ", read_only=True)
    assert secret.startswith("anaphora_")
    assert secret.encode() not in files_of(ann["database"])
    assert secret.removeprefix("anaphora_").encode() not in files_of(ann["database"])
    owner = api_tokens.find_token(database=ann["database"], token=secret)
    assert owner == api_tokens.TokenOwner(user_email=ANN, token_id=row.token_id, name=row.name, read_only=True)
    assert api_tokens.find_token(database=ann["database"], token=secret + "x") is None
    settle(ann["database"])
    (listed,) = api_tokens.list_tokens(**ann)
    assert (listed.name, listed.read_only, listed.last_used_at is not None) == ("backup", True, True)


def test_a_revoked_token_is_useless_and_nobody_revokes_anothers(ann: dict[str, str]) -> None:
    row, secret = api_tokens.create_token(**ann, name="script")
    for wrong in (row.token_id, "missing"):
        with pytest.raises(TokenNotFoundError):
            api_tokens.revoke_token(database=ann["database"], user_email=BEN, token_id=wrong)
    assert api_tokens.list_tokens(database=ann["database"], user_email=BEN) == []
    assert api_tokens.find_token(database=ann["database"], token=secret) is not None
    api_tokens.revoke_token(**ann, token_id=row.token_id)
    assert api_tokens.find_token(database=ann["database"], token=secret) is None


def test_a_token_needs_a_name_and_an_account(ann: dict[str, str]) -> None:
    for name in ("", "  ", "x" * 101):
        with pytest.raises(InvalidChangeError):
            api_tokens.create_token(**ann, name=name)
    with pytest.raises(UserNotFoundError):
        api_tokens.create_token(database=ann["database"], user_email="no@example.org", name="script")


def test_five_failures_make_wait_and_each_further_one_makes_wait_longer(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    moment = throttle.now()
    monkeypatch.setattr(throttle, "_time", lambda *_: moment)
    who = {"database": database, "subject": throttle.login_subject(ANN, "10.0.0.1")}
    for _ in range(4):
        throttle.record_failure(**who)
        assert throttle.seconds_to_wait(**who) == 0
    waits = []
    for _ in range(3):
        throttle.record_failure(**who)
        waits.append(throttle.seconds_to_wait(**who))
        moment += timedelta(seconds=waits[-1])
        assert throttle.seconds_to_wait(**who) == 0
    assert waits == [15, 30, 60]


def test_the_wait_is_bounded_even_when_the_clock_is_set_back(database: Database, later: Any) -> None:
    who = {"database": database, "subject": "s"}
    for _ in range(20):
        throttle.record_failure(**who)
    assert 890 < throttle.seconds_to_wait(**who) <= 900
    later(hours=-5)
    assert throttle.seconds_to_wait(**who) == 900


def test_failures_count_for_one_account_from_one_address(database: Database) -> None:
    for _ in range(5):
        throttle.record_failure(database=database, subject=throttle.login_subject(" Ann@Example.org", "10.0.0.1"))
    assert throttle.seconds_to_wait(database=database, subject=throttle.login_subject(ANN, "10.0.0.1")) > 0
    assert throttle.seconds_to_wait(database=database, subject=throttle.login_subject(ANN, "10.0.0.2")) == 0
    assert throttle.seconds_to_wait(database=database, subject=throttle.login_subject(BEN, "10.0.0.1")) == 0


def test_success_and_time_clear_the_failures(database: Database, later: Any) -> None:
    who = {"database": database, "subject": "s" * 100_000}
    for _ in range(6):
        throttle.record_failure(**who)
    throttle.clear_failures(**who)
    assert throttle.seconds_to_wait(**who) == 0
    for _ in range(6):
        throttle.record_failure(**who)
    later(minutes=16)
    assert throttle.seconds_to_wait(**who) == 0
    throttle.record_failure(database=database, subject="another")
    with database.reading() as connection:
        assert len(connection.execute(select(schema.login_attempts.c.attempt_id)).all()) == 1
