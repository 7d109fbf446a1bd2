"""What an MCP client is offered: the tools of the registry and a person's things as resources.

`mcp` takes a second to import, so that only functions that need it import it.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import orjson

from chat.tools.calling.threads import result_for_program
from chat.tools.registry import Result, Tool, ToolContext, ToolRegistry, ToolTimeoutError, failure
from chat.tools.results import call_fitted
from database.engine.errors import NotFoundError
from endpoints.http.errors import code_of
from version import product_version

from . import resources

if TYPE_CHECKING:
    import mcp.types as types
    from mcp.server.lowlevel.server import Server

T = TypeVar("T")
Run = Callable[[Callable[[], T]], Awaitable[T]]
log = logging.getLogger(__name__)

_RESULT_CHARS = 40_000
_INSTRUCTIONS = (
    "Tools and resources over what one person wrote in Anaphora: conversations, memories and documents. "
    "Cite what you use by its reference, such as @conversation_<id>_message_<hash>."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """Whom a client acts for, and with what. may_write: whether it is offered tools that change something."""

    context: ToolContext
    tools: ToolRegistry
    may_write: bool

    def offered(self) -> list[Tool]:
        """The tools that this client may call."""
        found = map(self.tools.get, self.tools.names())
        return [tool for tool in found if not tool.needs_consent and (self.may_write or tool.reads_only)]

    def call(self, name: str, arguments: Mapping[str, Any]) -> Result:
        """What a tool answers; a failure is a result too."""
        tool = self.tools.find(name)
        call = partial(call_fitted, self.tools, name, arguments)
        context = replace(self.context, max_chars=_RESULT_CHARS, asks_for_model=True)
        if tool is None:
            return call(context)
        if not (self.may_write or tool.reads_only):
            return failure("forbidden", "This connection may only read.")
        try:
            return result_for_program(tool, call, context)
        except ToolTimeoutError as error:
            return failure(error.code, error.message)


async def run_here(work: Callable[[], T]) -> T:
    """Run `work` on the event loop, which serves a single request then."""
    return work()


def server_for(account: Account, *, run: Run[Any] = run_here) -> Server[Any]:
    """A server of the protocol for one account. run: how the blocking work of a request is run."""
    from mcp.server.lowlevel.server import Server

    # The library tells of each session's begin and end, which is each request here.
    logging.getLogger("mcp").setLevel(logging.WARNING)
    requests = _Requests(account, run)
    return Server(
        "anaphora",
        title="Anaphora",
        version=product_version(),
        instructions=_INSTRUCTIONS,
        get_tool_input_schema=requests.schema,
        on_list_tools=requests.list_tools,
        on_call_tool=requests.call_tool,
        on_list_resources=requests.list_resources,
        on_list_resource_templates=requests.list_templates,
        on_read_resource=requests.read_resource,
    )


class _Requests:
    """The requests of the protocol that are answered, for one account."""

    def __init__(self, account: Account, run: Run[Any]) -> None:
        self._account = account
        self._run = run

    def schema(self, name: str) -> Mapping[str, Any] | None:
        """The JSON Schema of a tool's arguments."""
        return next((tool.parameters for tool in self._account.offered() if tool.name == name), None)

    async def list_tools(self, _context: Any, _params: Any) -> types.ListToolsResult:
        """`tools/list`."""
        import mcp.types as types

        return types.ListToolsResult(
            tools=[
                types.Tool(
                    name=tool.name,
                    description=tool.description,
                    input_schema={"type": "object", **tool.parameters},
                    annotations=types.ToolAnnotations(read_only_hint=tool.reads_only),
                )
                for tool in self._account.offered()
            ]
        )

    async def call_tool(self, _context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        """`tools/call`."""
        import mcp.types as types

        result = await self._answered(partial(self._account.call, params.name, params.arguments or {}))
        return types.CallToolResult(
            content=[types.TextContent(text=orjson.dumps(result).decode())],
            structured_content=result,
            is_error=not result.get("success", True),
        )

    async def list_resources(self, _context: Any, params: Any) -> types.ListResourcesResult:
        """`resources/list`."""
        import mcp.types as types

        page = partial(resources.page_of_all, self._account.context, params.cursor if params else None)
        found, further = await self._answered(page)
        return types.ListResourcesResult(
            resources=[
                types.Resource(
                    uri=resources.address(kind, each.name),
                    name=each.name,
                    title=each.title,
                    description=each.description or None,
                    mime_type=resources.KINDS[kind].media,
                )
                for kind, each in found
            ],
            next_cursor=further,
        )

    async def list_templates(self, _context: Any, _params: Any) -> types.ListResourceTemplatesResult:
        """`resources/templates/list`."""
        import mcp.types as types

        return types.ListResourceTemplatesResult(
            resource_templates=[
                types.ResourceTemplate(
                    name=name,
                    uri_template=f"{resources.SCHEME}://{name}/{{{kind.argument}}}",
                    description=kind.description,
                    mime_type=kind.media,
                )
                for name, kind in resources.KINDS.items()
            ]
        )

    async def read_resource(self, _context: Any, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        """`resources/read`."""
        import mcp.types as types

        media, text = await self._answered(partial(resources.read, self._account.context, params.uri))
        return types.ReadResourceResult(
            contents=[types.TextResourceContents(uri=params.uri, mime_type=media, text=text)]
        )

    async def _answered(self, work: Callable[[], T]) -> T:
        """What `work` returns. Raises MCPError; errors that are not the product's own say nothing of themselves."""
        import mcp.types as types
        from mcp.shared.exceptions import MCPError

        try:
            found: T = await self._run(work)
        except Exception as error:
            code = code_of(error)
            if code is None:
                log.exception("a request of an MCP client failed")
                raise MCPError(types.INTERNAL_ERROR, "Something went wrong in the server.") from None
            is_clients = isinstance(error, NotFoundError) or code in ("bad_request", "claim_not_found")
            number = types.INVALID_PARAMS if is_clients else types.INTERNAL_ERROR
            raise MCPError(number, str(getattr(error, "message", "")), {"code": code}) from None
        return found
