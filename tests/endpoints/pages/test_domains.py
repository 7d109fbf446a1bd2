"""Whose lists the page shows: those of one domain, chosen by who has conversations in several."""

from __future__ import annotations

import json
import re
from typing import Any

from tests.endpoints.conftest import Person


def bootstrap(person: Person, path: str = "/interface/") -> Any:
    """What the page at `path` begins with."""
    page = person.get(path, headers={"Accept": "text/html"}).get_data(as_text=True)
    found = re.search(r'<script type="application/json" id="bootstrap">(.*?)</script>', page, re.DOTALL)
    assert found
    return json.loads(found[1])


def links(person: Person) -> list[str]:
    """The addresses of the domains that the page offers."""
    page = person.get("/interface/", headers={"Accept": "text/html"}).get_data(as_text=True)
    return re.findall(r'href="(/interface/\?domain=[^"]*)"', page)


def made(person: Person, domain: str) -> str:
    """The id of a new conversation."""
    return str(person.post(f"/create_conversation/{domain}/").json["conversation_id"])


def test_who_has_conversations_in_one_domain_chooses_nothing(ada: Person, eve: Person) -> None:
    made(ada, "assistant")
    made(eve, "research")
    assert (bootstrap(ada)["domain"], bootstrap(ada)["domains"], links(ada)) == ("assistant", [], [])
    assert bootstrap(ada, "/interface/?domain=research")["domain"] == "assistant"


def test_who_has_conversations_in_several_chooses_one_of_them(ada: Person) -> None:
    there = made(ada, "research")
    assert bootstrap(ada)["domains"] == ["assistant", "research"]
    assert links(ada) == ["/interface/?domain=assistant", "/interface/?domain=research"]
    assert bootstrap(ada)["domain"] == "assistant"
    for path in ("/interface/?domain=research", f"/interface/{there}"):
        assert bootstrap(ada, path)["domain"] == "research"
    assert bootstrap(ada, "/interface/?domain=nowhere")["domain"] == "assistant"


def test_a_domain_without_a_conversation_that_lists_show_is_not_offered(ada: Person) -> None:
    there = made(ada, "research")
    assert ada.delete(f"/delete_conversation/{there}").status_code == 200
    ada.post("/create_temporary_conversation/passing")
    assert bootstrap(ada)["domains"] == []
