"""What a refusal says to a person has a code of `sentences.py`, so that a page says it in each language."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from endpoints.http.errors import ERROR_TABLE
from endpoints.http.languages import ENGLISH, LANGUAGES, template_strings
from tests.endpoints.http.test_languages import subclasses_of, words_of_errors
from tests.live_server import ROOT

pytestmark = pytest.mark.contract

PACKAGES = (
    "activity",
    "attachments",
    "chat",
    "database",
    "endpoints",
    "language_models",
    "portability",
    "search",
    "truth_management_system",
    "vault",
)
FOR_PROGRAMS = {
    "f'tools: {error.message}'",
    "f'{first} and {other} are names of the same argument: give one of them.'",
    "'The answer has been closed by another process.'",
    "f'The tool ended with code {error.code} in the place of an answer.'",
    "f'The tool ended with {type(error).__name__} in the place of an answer.'",
    "f'{self._model} answered vectors of several lengths, or of none'",
    "\"A domain is a word of letters, digits, '-' and '_'.\"",
    '"A token can\'t change roles."',
    '"A token can\'t delete accounts."',
    '"A token can\'t invite people."',
    '"A token can\'t make administrators."',
    '"A token can\'t make password links."',
    '"A token can\'t make tokens."',
    '"A token can\'t shut administrators out, or let them in again."',
    '"A workspace\'s colour is the name of one."',
    "'The other servers of this database share another data folder.'",
    '"The id of a conversation begins with its owner\'s e-mail address."',
    '"This kind of proposal can\'t be accepted here."',
    "'A branch begins in the place of a message that is not there.'",
    "'A message lies in a branch that is not there.'",
    "'A value is neither text nor a number.'",
    '\'An entity is an object with "name", and with "type" and "role" if you like.\'',
    "'An id is text.'",
    "'An identifier occurs twice.'",
    "'Approve \"all\", or a list of indexes or of objects with the index of each.'",
    "'If-Match names one version of the document.'",
    "'Name a conversation, a thread or a recipe to export.'",
    "'No agents can be asked here.'",
    "'Send the files as the field `files` of a form.'",
    "'Several activities have this short id. Name the conversation, or the whole id.'",
    "'The address contains a NUL character.'",
    "'The body is not valid JSON.'",
    "'The cursor is not one of a list of memories.'",
    "'The cursor is not one of a list of resources.'",
    "'The cursor is not one of a search.'",
    "'The filters are no object.'",
    "'The friendly_id has to be text.'",
    "'The number is too large.'",
    "'The path leads out of the bin.'",
    "'The query of the address is no UTF-8.'",
    "'The tags have to be a list of words.'",
    "'This client_id belongs to a conversation of another domain, or to one that was deleted. C",
    "'This is no document of the bin.'",
    "'This request does not come from our own pages.'",
    "'This server does not answer for this host name. ANAPHORA_ALLOWED_HOSTS may list it.'",
    "'This token may only read.'",
    "'Too many proposals are open. The person has to decide on some first.'",
    "'ref: behind the @ there has to be a name.'",
    "'reference: behind the @ there has to be a name.'",
    "f\"A claim has no {', '.join(sorted(unknown))}.\"",
    "f\"A claim is an object with {', '.join(sorted(FIELDS))}.\"",
    "f\"A flag is one of {', '.join(FLAGS)}.\"",
    "f\"A proposal has no {', '.join(unknown)} to change.\"",
    "f\"Can't be changed: {', '.join(unknown)}. What can: {', '.join(sorted(allowed))}.\"",
    "f\"The answer {message_id} can't be made again by {model_name}: a bundle holds one text of ",
    "f\"The filter {name!r} takes {('true or false' if name in _SWITCHES else 'a time')}.\"",
    'f"This conversation is not one of {asked.title}\'s."',
    'f"{asked.title} is waiting for this answer itself, so it can\'t be asked."',
    "f\"{change!r} is no change; use one of {', '.join(changes)}.\"",
    "f\"{name!r} is no filter; use one of {', '.join(sorted(_FILTERS))}.\"",
    "f\"{name!r} is no search; use one of {', '.join(self._strategies)}.\"",
    "f\"{order_by!r} is no order; use one of {', '.join(sorted(_ORDERS))}.\"",
    "f\"{row['action']!r} is no action; use one of {actions}.\"",
    "f\"{row['status']!r} is no status of a conflict.\"",
    "f\"{value!r} is no role; use one of {', '.join(EntityRole)}.\"",
    "f\"{value!r} is no status; use one of {', '.join(ClaimStatus)}.\"",
    "f'A part of the address is longer than {_MAX_PART:,} characters.'",
    "f'Agents ask each other at most {DEEPEST} deep. Answer with what you know.'",
    "f'Several activities are called {reference[:100]}. Name the one by its uuid.'",
    "f'Several conversations are called “{name[:_LONGEST_NAME]}”. Name one by its id: {ids}{mor",
    "f'The body has more than {_MOST_CONTAINERS:,} objects and arrays.'",
    "f'The {what} are no list.'",
    "f'The {what} has to be text.'",
    "f'The {what} is no JSON object.'",
    "f'This plan has no proposal {index!r}.'",
    "f'pageStart ({first}) is after pageEnd ({last}).'",
    "'The tool answered with no JSON object.'",
    "f'The result is nested more than {DEEPEST_JSON} levels deep.'",
    "f\"{name.replace(_NUL, '')[:100]}: {problem}.\"",
    "f'{before!r} is no number of an entry.'",
    "f'{kind!r} is neither a type nor a domain.'",
    "f'{kind!r} is nothing that has aliases.'",
    "f'{mode!r} is no way to import; there is \"merge\".'",
    "f'{self._model} answered no embeddings'",
    "f'{self._model} answered {len(vectors)} vectors for {count} texts'",
    "f'{self.name} could not embed: {error}'",
    'f\'{user_response!r} is no answer; use "all", "none", or numbers such as "1,3".\'',
    "f'{value!r} is no text.'",
    "f'{wanted!r} is no number of results.'",
}
"""How the texts begin that only programs meet: a page never sends what they refuse."""
_TOLD = 90


def quoting_codes() -> set[str]:
    """The codes whose words quote what the server says."""
    return set(re.findall(r"^  (\w+): \(said\)", words_of_errors("de"), re.MULTILINE))


def quoted_errors() -> set[str]:
    """The names of the errors whose own sentence a page quotes."""
    quoting, names = quoting_codes(), set()
    for row in ERROR_TABLE:
        for kind in subclasses_of(row.error):
            deciding = next(each for each in ERROR_TABLE if issubclass(kind, each.error))
            code = getattr(kind, "code", "") if deciding.code == "{code}" else deciding.code
            names |= {kind.__name__} if code in quoting else set()
    return names


def texts_without_code(path: Path, errors: set[str]) -> Iterator[tuple[str, ast.expr]]:
    """The texts that are raised as they stand there, each with its error."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not (isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and node.exc.args):
            continue
        name, text = ast.unparse(node.exc.func).rpartition(".")[2], node.exc.args[0]
        if name in errors and isinstance(text, ast.Constant | ast.JoinedStr):
            yield name, text


def test_each_refusal_that_a_page_quotes_has_a_code() -> None:
    errors = quoted_errors()
    assert {"InvalidChangeError", "ConflictError", "InvalidKnowledgeError", "ForbiddenError"} <= errors
    of_forms = {*template_strings(min(set(LANGUAGES) - {ENGLISH}))}
    found = set()
    for path in (path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))):
        for name, text in texts_without_code(path, errors):
            # The state of a proposal is no text.
            if name == "ProposalDecidedError" or (isinstance(text, ast.Constant) and text.value in of_forms):
                continue
            found.add(ast.unparse(text)[:_TOLD])
    assert found - FOR_PROGRAMS == set()
    assert FOR_PROGRAMS - found == set()
