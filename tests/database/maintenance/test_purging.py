"""What has expired is deleted, whether its owner comes back or not."""

from __future__ import annotations

import pytest
from sqlalchemy import Connection, func, select, update

from database.accounts.audit import COMMAND_LINE
from database.accounts.invitations import create_invitation
from database.accounts.password_links import create_password_link
from database.accounts.sessions import create_session, find_session
from database.accounts.users import create_user
from database.engine.clock import iso_in
from database.engine.database import Database
from database.maintenance.purging import purge_expired
from database.schema import invitations, password_links, sessions

pytestmark = pytest.mark.contract
ANN, BEN = "ann@example.org", "ben@example.org"


def test_expired_sessions_links_and_invitations_go_and_valid_ones_stay(database: Database) -> None:
    for user_email in (ANN, BEN):
        create_user(database=database, user_email=user_email, password="correct horse battery")
        create_password_link(database=database, user_email=user_email)
        create_invitation(database=database, by=COMMAND_LINE, role="member")
    valid = create_session(database=database, user_email=BEN)
    create_session(database=database, user_email=ANN, address="192.0.2.1")
    over = {"expires_at": iso_in(seconds=-1)}
    first = select(invitations.c.invitation_id).order_by(invitations.c.created_at).limit(1).scalar_subquery()

    def expire(connection: Connection) -> None:
        for table in (sessions, password_links):
            connection.execute(update(table).where(table.c.user_email == ANN).values(over))
        connection.execute(update(invitations).where(invitations.c.invitation_id == first).values(over))

    database.write(expire)
    assert purge_expired(database=database) == 3
    assert purge_expired(database=database) == 0
    with database.reading() as connection:
        for table in (sessions, password_links, invitations):
            assert connection.execute(select(func.count()).select_from(table)).scalar_one() == 1
    assert find_session(database=database, token=valid) == BEN
