"""Base classes of request and response models, and the field types they share."""

from __future__ import annotations

import re
from functools import cache
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, JsonValue, create_model

from database.accounts.passwords import LONGEST_PASSWORD, SHORTEST_PASSWORD
from database.engine.text import problem_of_json

LARGEST_NUMBER = 2**53
"""The largest integer that programs with only floats, such as JavaScript, represent exactly."""
_EMAIL = re.compile(r"[^@\s/\\?#%\x00-\x20]{1,64}@[^@\s/\\?#%\x00-\x20]{1,190}")


def _without_nul(text: str) -> str:
    if "\x00" in text:
        raise ValueError("a NUL character is not allowed")
    return text


def _email(text: str) -> str:
    address = text.strip().lower()
    if not _EMAIL.fullmatch(address):
        raise ValueError("not an e-mail address")
    return address


def _clean_json(value: Any) -> Any:
    problem = problem_of_json(value)
    if problem is not None:
        raise ValueError(problem)
    return value


def _not_blank(text: str) -> str:
    if not text.strip():
        raise ValueError("must not be empty")
    return text.strip()


def _printable(text: str) -> str:
    if not text.isprintable():
        raise ValueError("must be printable")
    return text


Text = Annotated[str, AfterValidator(_without_nul)]
Email = Annotated[str, Field(max_length=256), AfterValidator(_email)]
Password = Annotated[
    str, Field(min_length=SHORTEST_PASSWORD, max_length=LONGEST_PASSWORD), AfterValidator(_without_nul)
]
Name = Annotated[Text, Field(max_length=200)]
Title = Annotated[Text, Field(max_length=500), AfterValidator(_not_blank)]
Id = Annotated[Text, Field(min_length=1, max_length=400)]
JsonObject = Annotated[dict[str, JsonValue], BeforeValidator(_clean_json)]
References = Annotated[list[Annotated[Text, Field(max_length=400)]], Field(max_length=10_000)]
ClientId = Annotated[str, Field(min_length=1, max_length=64), AfterValidator(_printable)]
"""What a client calls the thing that it creates; sent again under the same id, nothing is created twice."""


class Model(BaseModel):
    """What a request or response is made of. Its validator is built when it is first needed: there are hundreds."""

    model_config = ConfigDict(defer_build=True)


class Body(Model):
    """A request's body: of exactly these fields, of exactly these types."""

    model_config = ConfigDict(extra="forbid", strict=True)


class Query(Model):
    """A request's query parameters; unknown ones are refused, and the known ones named (`validation.asks`)."""

    model_config = ConfigDict(extra="forbid")


class OpenQuery(Query):
    """The query of an address that others link to, with parameters of their own: unknown ones are ignored."""

    model_config = ConfigDict(extra="ignore")


class Nothing(Body):
    """No field at all."""


class Shape(Model):
    """A response of exactly these fields. is_named: the API's description lists it among its schemas."""

    model_config = ConfigDict(extra="forbid")
    is_named: ClassVar[bool] = True


def shape(base: type[Shape] = Shape, /, **fields: Any) -> type[Shape]:
    """A response of the fields of `base` and of these, for responses that need no name; described where it is used."""
    return _shape(base, tuple(fields.items()))


@cache
def _shape(base: type[Shape], fields: tuple[tuple[str, Any], ...]) -> type[Shape]:
    definitions: dict[str, Any] = {name: (kind, ...) for name, kind in fields}
    made: type[Shape] = create_model("Response", __base__=base, **definitions)
    made.is_named = False
    return made


class Done(Shape):
    """It is done."""

    status: Literal["ok"]


class Saying(Shape):
    """One of the server's own sentences by its code, or as `text`: see *Answers that stream*."""

    code: str | None = None
    values: dict[str, str | int] | None = None
    text: str | None = None


class Warned(Shape):
    """What could not be done, as sentences; `warnings_said` has the codes of each, for other languages."""

    warnings: list[str]
    warnings_said: list[list[Saying]]


class ErrorAnswer(Shape):
    """Any error. `details` are pydantic's field errors; `request_id` finds it in the log.

    `said`: what the message says in any language, where the code alone does not say it.
    """

    status: Literal["error"]
    code: str
    message: str
    request_id: str
    details: list[dict[str, Any]] | dict[str, Any] | None = None
    said: list[Saying] | None = None
