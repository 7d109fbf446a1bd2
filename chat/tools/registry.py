"""Tools: typed Python functions, described to models and programs by a JSON Schema, and called by name.

A tool is a function with the decorator `tool`. Its first parameter is the `ToolContext`, every other one is an argument
of the call: the type hint and the `Field` beside it become the JSON Schema, the first paragraph of the docstring
becomes the description. A tool returns a JSON object, or raises a typed error of the product. Arguments and results
are nested at most `DEEPEST_JSON` levels, so that whatever is stored of a call can be exported and imported again.

Packages add tools under the entry point group `anaphora.tools`: each entry point names a `Tool`.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import Enum
from importlib.metadata import entry_points
from typing import Any, get_type_hints

import orjson
from pydantic import AliasChoices, BaseModel, ConfigDict, ValidationError, create_model

from chat.exchange.ports import ConversationLoader, OnStop, TurnServices
from database.engine.database import Database
from database.engine.text import DEEPEST_JSON, problem_of_json, storable
from search.language import nearest_names

log = logging.getLogger(__name__)
ENTRY_POINTS = "anaphora.tools"
_NUL = "\0"
_LONGEST_SHOWN = 100
_MOST_NEAREST = 3
_FAILED = {"code": "tool_failed", "message": "The tool says that it has failed."}
Result = dict[str, Any]
CodeOf = Callable[[Exception], str | None]
"""The code of an error of the product, the same in every interface; None for an error that is none of them."""


class ToolError(Exception):
    """A call that can't be answered. `code` is for programs, `message` one sentence for whoever called.

    more: further fields of the result that tells of it.
    """

    code = "bad_request"

    def __init__(self, message: str, *, more: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.more = dict(more or {})


class ToolNotFoundError(ToolError):
    """There is no tool of this name."""

    code = "tool_not_found"

    def __init__(self, name: str, *, nearest: Sequence[str] = ()) -> None:
        meant = f" Did you mean {' or '.join(f'“{each}”' for each in nearest)}?" if nearest else ""
        super().__init__(f"There is no tool “{name[:_LONGEST_SHOWN]}”.{meant}")


class InvalidArgumentsError(ToolError):
    """The arguments don't fit the schema of the tool; the message names the first that doesn't."""

    code = "bad_request"


class ToolFailedError(ToolError):
    """The result of a tool is no JSON object, or is nested too deep; or the tool wanted to end the program."""

    code = "tool_failed"


class ToolTimeoutError(ToolError):
    """A call took longer than it may, or could not begin in that time.

    has_begun: one that had not is never made.
    """

    code = "tool_timeout"

    def __init__(self, message: str, *, has_begun: bool = True) -> None:
        super().__init__(message)
        self.has_begun = has_begun


class NotSignedInError(ToolError):
    """The call comes from nobody."""

    code = "unauthorized"

    def __init__(self) -> None:
        super().__init__("Please log in.")


class ConsentNeededError(ToolError):
    """The person has not agreed to the call."""

    code = "consent_needed"

    def __init__(self) -> None:
        super().__init__("This tool is called only by models, in conversations, once the person has agreed to it.")


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolContext:
    """Whom a call acts for, and what it is answered with. Tools see the things of `user_email` alone.

    load: opens conversations of this person. conversation_id, message_id: the conversation and the answer in which a
    model makes the call; None for a program. question_index: of the message that is answered. agent_id: the agent that
    makes the call. call_depth, agent_chain: through how many agents, and through which, the call has come. max_chars:
    how long the text in a result may be; None: any length. may_write: the person allowed that documents are changed at
    once; otherwise changes are proposed. on_stop: takes what is to be done once nobody waits for the result any more;
    None where the caller always waits. has_consent: the person has agreed to the call. token_name: what the API token
    is called with which a program makes the call. referred: what the message that is answered refers to, without "@",
    as the person wrote it: that may be read although it is hidden from models. asks_for_model: a model of a program
    may have written the arguments.
    """

    user_email: str
    database: Database
    services: TurnServices
    load: ConversationLoader
    conversation_id: str | None = None
    message_id: str | None = None
    question_index: int | None = None
    agent_id: str | None = None
    call_depth: int = 0
    agent_chain: tuple[str, ...] = ()
    max_chars: int | None = None
    may_write: bool = False
    on_stop: OnStop | None = None
    has_consent: bool = False
    token_name: str | None = None
    referred: frozenset[str] = frozenset()
    asks_for_model: bool = False

    @property
    def own(self) -> dict[str, Any]:
        """Where the store is, and whose things may be seen: arguments that every function on user data takes."""
        return {"database": self.database, "user_email": self.user_email}


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A function that models and programs may call.

    run: takes the context and the arguments by their Python names; raises typed errors. parameters: the JSON Schema of
    the arguments. reads_only: it changes nothing. on_by_default: models are offered it unless the person switched it
    off. ignores: arguments that are accepted and not looked at. seconds: how long a call of a model may take, and any
    call of a tool that is installed; None: as long as any. needs_consent: each call waits for the person, unless they
    have allowed it for the conversation. needs_agents: it asks an agent, so only people who have made one have it on by
    default. is_remote: it asks another server. is_installed: it comes with an installed package. Calls of these three
    kinds have threads of their own.
    """

    name: str
    description: str
    parameters: Mapping[str, Any]
    run: Callable[..., Result]
    reads_only: bool = True
    on_by_default: bool = True
    aliases: tuple[str, ...] = ()
    ignores: frozenset[str] = frozenset()
    arguments: type[BaseModel] | None = None
    seconds: float | None = None
    needs_consent: bool = False
    needs_agents: bool = False
    is_remote: bool = False
    is_installed: bool = False

    def is_offered(self, *, has_agents: bool) -> bool:
        """Whether the models of a person are offered it who has switched nothing. has_agents: they have made agents."""
        return self.on_by_default and (has_agents or not self.needs_agents)

    def call(self, context: ToolContext, arguments: Mapping[str, Any]) -> Result:
        """The result of a call with `arguments` by their public names. Raises InvalidArgumentsError and typed errors.

        A tool without a model of its arguments takes them as they are.
        """
        wanted = {name: value for name, value in arguments.items() if name not in self.ignores}
        if self.arguments is None:
            return self.run(context, **wanted)
        _leave_one_name(wanted, self.arguments)
        try:
            given = self.arguments.model_validate(wanted)
        except ValidationError as error:
            raise InvalidArgumentsError(_told(error)) from error
        return self.run(context, **{name: getattr(given, name) for name in self.arguments.model_fields})


def tool(
    *,
    aliases: Sequence[str] = (),
    ignores: Iterable[str] = (),
    reads_only: bool = True,
    on_by_default: bool | None = None,
    seconds: float | None = None,
    needs_agents: bool = False,
    needs_consent: bool = False,
) -> Callable[[Callable[..., Result]], Tool]:
    """Make a tool of a function. on_by_default: None for every tool that only reads."""

    def decorate(run: Callable[..., Result]) -> Tool:
        arguments = _model_of(run)
        description = " ".join((inspect.getdoc(run) or "").partition("\n\n")[0].split())
        return Tool(
            name=run.__name__,
            description=description,
            parameters=_schema_of(arguments),
            run=run,
            reads_only=reads_only,
            on_by_default=reads_only if on_by_default is None else on_by_default,
            aliases=tuple(aliases),
            ignores=frozenset(ignores),
            arguments=arguments,
            seconds=seconds,
            needs_agents=needs_agents,
            needs_consent=needs_consent,
        )

    return decorate


class CallsUnderWay:
    """The running calls by user, those too that nobody waits for any more: they go on, and may write. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._of = Counter[str]()

    @contextmanager
    def of(self, user_email: str) -> Iterator[None]:
        """One call of this person."""
        with self._lock:
            self._of[user_email] += 1
        try:
            yield
        finally:
            with self._lock:
                self._of[user_email] -= 1
                if not self._of[user_email]:
                    del self._of[user_email]

    def has_any(self, user_email: str) -> bool:
        """Whether a call of this person is running."""
        with self._lock:
            return user_email in self._of


class ToolRegistry:
    """The tools of one server by name. Names and aliases are unique. code_of: what failures are called in results.

    under_way: the running calls of these tools.
    """

    def __init__(self, tools: Iterable[Tool] = (), *, code_of: CodeOf, under_way: CallsUnderWay | None = None) -> None:
        self.under_way = under_way or CallsUnderWay()
        self._code_of = code_of
        self._tools: dict[str, Tool] = {}
        self._by_any_name: dict[str, Tool] = {}
        for each in tools:
            self.register(each)

    def register(self, new: Tool) -> None:
        """Add a tool. Raises ValueError where one of its names is taken, TypeError for an `async` function."""
        if inspect.iscoroutinefunction(new.run):
            raise TypeError(f"{new.name} is an async function: tools are plain ones, which run in threads")
        names = (new.name, *new.aliases)
        taken = [name for name in names if name in self._by_any_name]
        if taken:
            raise ValueError(f"There is a tool {taken[0]} already.")
        self._tools[new.name] = new
        self._by_any_name.update(dict.fromkeys(names, new))

    def with_tools(self, more: Iterable[Tool]) -> ToolRegistry:
        """A registry of these tools and of `more`; one of `more` whose name is taken is left out."""
        both = ToolRegistry(self._tools.values(), code_of=self._code_of, under_way=self.under_way)
        for each in more:
            if both.find(each.name) is None:
                both.register(each)
        return both

    def register_installed(self) -> None:
        """Add the tools of installed packages; one that fails is logged and left out."""
        for each in entry_points(group=ENTRY_POINTS):
            try:
                self.register(replace(each.load(), is_installed=True))
            except (Exception, SystemExit):
                log.exception("the tool %s of an installed package can't be used", each.name)

    def names(self) -> list[str]:
        """The names of all tools, without aliases, sorted."""
        return sorted(self._tools)

    def find(self, name: str) -> Tool | None:
        """The tool of this name or alias, or None."""
        return self._by_any_name.get(name)

    def get(self, name: str) -> Tool:
        """The tool of this name or alias. Raises ToolNotFoundError."""
        found = self.find(name)
        if found is None:
            raise ToolNotFoundError(name, nearest=nearest_names(name[:_LONGEST_SHOWN], self._tools, most=_MOST_NEAREST))
        return found

    def own_names(self, names: Iterable[str], *, known: Iterable[str] = ()) -> list[str]:
        """The names of tools without aliases, each once. known: what may be no tool any more.

        Raises ToolNotFoundError.
        """
        gone = {name for name in known if self.find(name) is None}
        return list(dict.fromkeys(name if name in gone else self.get(name).name for name in names))

    def run(self, name: str, arguments: Mapping[str, Any], context: ToolContext) -> Result:
        """The result of a call, which JSON can say. Raises ToolError and the typed errors of the product."""
        if not context.user_email:
            raise NotSignedInError
        found = self.get(name)
        if found.needs_consent and not context.has_consent:
            raise ConsentNeededError
        check_arguments(arguments)
        try:
            with self.under_way.of(context.user_email):
                return _checked(found.call(context, arguments))
        except SystemExit as error:
            raise ToolFailedError(f"The tool ended with code {error.code} in the place of an answer.") from error
        except (KeyboardInterrupt, asyncio.CancelledError) as error:  # on a loop these would end a turn, or the server
            raise ToolFailedError(f"The tool ended with {type(error).__name__} in the place of an answer.") from error

    def call(self, name: str, arguments: Mapping[str, Any], context: ToolContext) -> Result:
        """`run` that never raises: a failure is `{"success": False, "error": {"code", "message"}}`."""
        try:
            return self.run(name, arguments, context)
        except Exception as error:
            code = self._code_of(error)
            if code is None:
                log.exception("the tool %s failed", name)
                return failure("internal_error", "Something went wrong in this tool. The server's log says what.")
            more = error.more if isinstance(error, ToolError) else {}
            return {**failure(code, getattr(error, "message", "") or "This can't be done."), **more}


def _leave_one_name(wanted: dict[str, Any], arguments: type[BaseModel]) -> None:
    """Of an argument that is given by several of its names, keep the first. Raises where they say different things."""
    for field in arguments.model_fields.values():
        if not isinstance(field.validation_alias, AliasChoices):
            continue
        first, *others = [name for name in field.validation_alias.choices if name in wanted] or [""]
        for other in others:
            if wanted[other] != wanted[first]:
                raise InvalidArgumentsError(f"{first} and {other} are names of the same argument: give one of them.")
            del wanted[other]


def check_arguments(arguments: Mapping[str, Any], *, deepest: int = DEEPEST_JSON) -> None:
    """Raise InvalidArgumentsError for what HTTP refuses in every body: NUL characters, more levels than `deepest`."""
    for name, value in arguments.items():
        problem = problem_of_json(name) or problem_of_json(value, deepest=deepest - 1)
        if problem is not None:
            raise InvalidArgumentsError(f"{name.replace(_NUL, '')[:100]}: {problem}.")


def _checked(result: Any) -> Result:
    """The result of a tool as plain JSON, what JSON can't say as text. Raises ToolFailedError.

    The error of a failed call becomes an object with `code` and `message`.
    """
    if not isinstance(result, Mapping):
        raise ToolFailedError("The tool answered with no JSON object.")
    told: Result = _plain(result, DEEPEST_JSON)
    if told.get("success", True):
        return told
    error = told.get("error")
    given = error if isinstance(error, dict) else {"message": error} if error else {}
    named = {name: each if isinstance(each, str) else str(each) for name, each in given.items() if name in _FAILED}
    return {**told, "error": {**given, **_FAILED, **named}}


def _plain(value: Any, deepest: int) -> Any:
    """`value` as JSON. Raises ToolFailedError for what is nested more than `deepest` levels."""
    if deepest < 0:
        raise ToolFailedError(f"The result is nested more than {DEEPEST_JSON} levels deep.")
    if isinstance(value, Mapping):
        return {str(_as_text(name)): _plain(each, deepest - 1) for name, each in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(each, deepest - 1) for each in value]
    if isinstance(value, str):
        return _as_text(value)
    try:
        told = orjson.loads(orjson.dumps(value, default=_as_text))
    except orjson.JSONEncodeError:
        return _as_text(value)
    return _plain(told, deepest) if isinstance(told, dict | list | str) else told


def _as_text(value: Any) -> str:
    """A text that every store can hold. One of the product's sentences stays one."""
    value = value.value if isinstance(value, Enum) else value
    text = value if isinstance(value, str) else str(value)
    return storable(text.replace(_NUL, "\ufffd") if _NUL in text else text)


def failure(code: str, message: str, **more: Any) -> Result:
    """A result that tells of an error."""
    return {"success": False, "error": {"code": code, "message": message, **more}}


def _model_of(run: Callable[..., Result]) -> type[BaseModel]:
    """A model whose fields are the parameters of `run` behind the context."""
    hints = get_type_hints(run, include_extras=True)
    parameters = list(inspect.signature(run).parameters.values())[1:]
    fields: dict[str, Any] = {
        each.name: (hints[each.name], ... if each.default is each.empty else each.default) for each in parameters
    }
    return create_model("Arguments", __config__=ConfigDict(extra="forbid", strict=True), **fields)


def _told(error: ValidationError) -> str:
    """The first thing that is wrong, with the name of the argument."""
    first = error.errors(include_url=False, include_input=False, include_context=False)[0]
    name = ".".join(str(part) for part in first["loc"])
    return f"{name}: {first['msg']}." if name else f"{first['msg']}."


def _schema_of(arguments: type[BaseModel]) -> dict[str, Any]:
    schema = arguments.model_json_schema(by_alias=True)
    schema.pop("title", None)
    for field in schema.get("properties", {}).values():
        field.pop("title", None)
    return {"properties": {}, **schema}
