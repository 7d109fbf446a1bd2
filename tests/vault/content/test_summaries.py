"""One line about a document: prose, a model's sentence, or a beginning; a turn never waits for a model."""

from __future__ import annotations

import pytest
from sqlalchemy import func, select

from database.accounts.users import create_user
from database.maintenance.account_erasure import close_account, erase_account
from database.schema import document_summaries
from database.vault.summaries import purge_summaries
from language_models.errors import ModelUnavailableError
from language_models.testing import Reply, ScriptedChatModel
from tests.vault.conftest import ADA
from vault.documents import Vaults

LONG = "A long paragraph about the garden. " * 20


@pytest.fixture
def model():
    return ScriptedChatModel(replies=lambda _prompt: Reply("The garden through the year."))


@pytest.fixture
def vaults(vaults, database, model):
    return Vaults(database=database, cheap=lambda: model)


def test_the_first_paragraph_of_prose_is_the_summary_where_it_is_short(vault, put, model):
    put({"a.md": "---\nx: 1\n---\n# Title\n\n---\n![pic](x.png)\n\nShort\nand plain.\n\nMore."})
    assert vault.summary("a.md", ask=True) == "Short and plain."
    assert model.prompts == []


def test_a_long_document_is_summed_up_by_the_model_once(vault, put, model):
    put({"a.md": LONG})
    assert vault.summary("a.md", ask=True) == "The garden through the year."
    assert vault.summary("a.md") == "The garden through the year."
    assert len(model.prompts) == 1


def test_the_model_is_given_the_beginning_and_few_tokens_and_its_sentence_is_cut_behind_a_word(vault, put, model):
    put({"a.md": LONG * 3})
    assert vault.summary("a.md", max_length=20, ask=True) == "The garden through"
    (call,) = model.calls
    assert call.prompt[-1]["content"] == (LONG * 3)[:1_000]
    assert call.max_tokens == 50


def test_only_a_paragraph_shorter_than_the_room_is_a_summary(vault, put, model):
    put({"fits.md": "x" * 99, "fills.md": "x" * 100})
    assert vault.summary("fits.md", ask=True) == "x" * 99
    assert model.prompts == []
    assert vault.summary("fills.md", ask=True) == "The garden through the year."


def test_a_turn_gets_a_beginning_and_the_model_is_asked_behind(vault, vaults, put, model):
    put({"a.md": LONG})
    cut = vault.summary("a.md", max_length=50)
    assert cut.endswith("…")
    assert len(cut) <= 50
    assert model.prompts == []
    assert vaults.summaries.make_waiting() == 1
    assert vault.summary("a.md", max_length=50) == "The garden through the year."


def test_a_changed_document_is_summed_up_anew(vault, put, model):
    put({"a.md": LONG})
    vault.summary("a.md", ask=True)
    put({"a.md": "Now it is short."})
    assert vault.summary("a.md") == "Now it is short."


def test_a_model_that_is_down_leaves_a_beginning_that_is_not_kept(database, put, vaults):
    put({"a.md": LONG})
    down = ScriptedChatModel.failing(ModelUnavailableError("Down."))
    assert Vaults(database=database, cheap=lambda: down).of(ADA).summary("a.md", ask=True).endswith("…")
    assert vaults.of(ADA).summary("a.md", ask=True) == "The garden through the year."


def test_a_document_that_cannot_be_read_says_so(vault):
    assert vault.summary("missing.md") == "Unable to access document"
    assert vault.summary("../x.md") == "Unable to access document"
    vault.write("missing.md", "It is there now.")
    assert vault.summary("missing.md") == "It is there now."


@pytest.mark.contract
def test_no_summary_is_kept_of_a_document_whose_account_was_erased_meanwhile(put, database):
    def erased_while_the_model_thinks(_prompt):
        close_account(database=database, user_email=ADA)
        vaults.erase(ADA)
        erase_account(database=database, user_email=ADA)
        return Reply("A secret.")

    put({"a.md": LONG})
    vaults = Vaults(database=database, cheap=lambda: ScriptedChatModel(replies=erased_while_the_model_thinks))
    vaults.of(ADA).summary("a.md")
    assert vaults.summaries.make_waiting() == 1
    create_user(database=database, user_email=ADA, password="somebody else has the address now")
    vaults.of(ADA).write("same.md", LONG)
    assert vaults.of(ADA).summary("same.md") != "A secret."


@pytest.mark.contract
def test_summaries_go_with_the_text_that_they_are_of(vault, put, model, database):
    put({"a.md": LONG, "b.md": LONG + "Other.", "c.md": LONG + "Third."})
    for path in ("a.md", "b.md", "c.md"):
        vault.summary(path, ask=True)
    vault.root.joinpath("b.md").unlink()
    put({"c.md": "Short."})
    assert purge_summaries(database=database) == 2
    assert purge_summaries(database=database) == 0
    with database.reading() as connection:
        assert connection.execute(select(func.count()).select_from(document_summaries)).scalar_one() == 1
    assert vault.summary("a.md") == "The garden through the year."
    assert len(model.prompts) == 3
