"""Agents from the command line."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import click

from activity.resolving import find_room
from chat.exchange.ports import AgentCaller, AgentQuestion
from chat.tools.registry import ToolRegistry
from Conversation import Conversation
from database.agents import repository
from database.agents.repository import AgentRules
from database.engine.errors import ConversationNotFoundError
from endpoints.http.scope import UserScope, current_state

from .shell import CommandGroup, account_option, agent_name, errors_as_exit_codes, examples, find_account

group = CommandGroup("agents", help="A person's agents.")

_named = click.argument("agent")
_RULE = re.compile(r"(?P<recipe>[^/@+]+)/(?P<type>[^/@+]+)(?:@(?P<room>.+?))?(?P<agents>\+agents)?")


def _settable(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options that say what an agent is."""
    options = (
        click.option("--slug", help="What stands behind @agent_ in messages."),
        click.option("--told", help="What the agent is told: its system prompt."),
        click.option(
            "--told-file", type=click.Path(path_type=Path, exists=True, dir_okay=False), help="A file that says it."
        ),
        click.option("--model", help="The model that answers; '' for that of the conversation."),
        click.option("--tool", "tools", multiple=True, help="A tool that it may use; give it once for each tool."),
        click.option("--service", type=click.Choice(repository.SERVICES), help="When it answers its inbox."),
        click.option("--hourly-limit", type=click.IntRange(0, 1000), help="Answers an hour, at most, by itself."),
        click.option(
            "--rule",
            "rules",
            multiple=True,
            metavar="RECIPE/TYPE[@ROOM][+agents]",
            help="What its inbox takes, of all conversations or of ROOM; +agents: also of agents and models. Give it "
            "once for each rule: they take the place of those that it has.",
        ),
        click.option("--no-rules", is_flag=True, help="Its inbox takes nothing by rules any more."),
    )
    for option in reversed(options):
        command = option(command)
    return command


@group.command("list", epilog=examples("agents list"))
@account_option
def list_agents(email: str | None) -> None:
    """List the agents of an account."""
    with _owner(email, writes=False) as who:
        for agent in repository.list_agents(**who):
            model = f", {agent.model}" if agent.model else ""
            click.echo(f"@agent_{agent.slug}: {agent.title}{model}")


@group.command(
    "create", epilog=examples('agents create --title Botanist --told "You know plants." --tool find_documents')
)
@account_option
@click.option("--title", required=True, help="The agent's title.")
@_settable
def create(email: str | None, title: str, **options: Any) -> None:
    """Make an agent and print how messages name it."""
    with _owner(email) as who:
        agent = repository.create_agent(**who, rules=_changed(AgentRules(title=title), options, who))
    click.echo(f"@agent_{agent.slug}")


@group.command("update", epilog=examples("agents update botanist --model openai:gpt-4o --service later"))
@account_option
@_named
@click.option("--title", help="The agent's title.")
@_settable
def update(email: str | None, agent: str, title: str | None, **options: Any) -> None:
    """Change an AGENT, named by its id or by what stands behind @agent_; what is left out stays."""
    with _owner(email) as who:
        stored = repository.get_agent(**who, agent=agent_name(agent))
        rules = AgentRules(**{name: getattr(stored, name) for name in AgentRules.__dataclass_fields__})
        rules = _changed(replace(rules, title=title or rules.title), options, who)
        changed = repository.replace_agent(**who, agent=stored.agent_id, rules=rules)
    click.echo(f"@agent_{changed.slug} is changed.")


@group.command("delete", epilog=examples("agents delete botanist"))
@account_option
@_named
@click.option("--for-good", is_flag=True, help="No message names it as its source any more.")
def delete(email: str | None, agent: str, for_good: bool) -> None:
    """Delete an AGENT; its answers stay."""
    with _owner(email) as who:
        repository.delete_agent(**who, agent=agent_name(agent), for_good=for_good)
    click.echo(f"{agent} is deleted.")


@group.command("ask", epilog=examples('agents ask botanist "Which trees stand by water?"'))
@account_option
@_named
@click.argument("question")
@click.option("--context", default="", help="What the agent should know.")
@click.option("--conversation", help="A conversation of the agent to go on with: its id or friendly id.")
def ask(email: str | None, agent: str, question: str, context: str, conversation: str | None) -> None:
    """Ask an AGENT a QUESTION and print its answer; the conversation is kept."""
    services = current_state().services
    with _owner(email) as who:
        user_email = who["user_email"]
        if services.agents is None:
            raise click.ClickException("No agents can be asked here.")
        result = services.agents.ask(
            AgentQuestion(agent=agent_name(agent), text=question, context=context, conversation_id=conversation),
            caller=AgentCaller(user_email=user_email),
            services=services,
            load=partial(_own_conversation, user_email),
        )
    click.echo(result["answer"])
    click.echo(f"Conversation: {result['conversationId']}", err=True)


def _own_conversation(user_email: str | None, conversation_id: str) -> Conversation:
    """Raises ConversationNotFoundError for somebody else's."""
    conversation = current_state().conversation_cache[conversation_id]
    if conversation.user_id != user_email:
        raise ConversationNotFoundError
    return conversation


@contextmanager
def _owner(email: str | None, *, writes: bool = True) -> Iterator[UserScope]:
    """Whose agents they are. Exits with one line where the block fails."""
    database = current_state().database
    with errors_as_exit_codes():
        yield UserScope(database=database, user_email=find_account(database, email, writes=writes))


def _changed(rules: AgentRules, options: dict[str, Any], who: UserScope) -> AgentRules:
    file = options["told_file"]
    told = file.read_text(encoding="utf-8") if file else options["told"]
    model = options["model"]
    if model:
        _check_model(model)
    values: dict[str, Any] = {
        "slug": options["slug"],
        "system_prompt": told,
        "service": options["service"],
        "hourly_limit": options["hourly_limit"],
        "enabled_tools": _tools_of(who).own_names(options["tools"], known=rules.enabled_tools or ()) or None,
        "rules": [] if options["no_rules"] else [_rule(each, who) for each in options["rules"]] or None,
    }
    given = {name: value for name, value in values.items() if value is not None}
    return replace(rules, model=rules.model if model is None else model or None, **given)


def _tools_of(who: UserScope) -> ToolRegistry:
    """The tools that the agents of this person may call."""
    state = current_state()
    return state.tools.with_tools(state.tool_servers.tools_of(who["user_email"]))


def _rule(text: str, who: UserScope) -> dict[str, Any]:
    """A rule as it is stored. Raises UsageError, RoomNotFoundError, RecipeNotFoundError, UnknownTypeError."""
    found = _RULE.fullmatch(text)
    if found is None:
        raise click.UsageError(f"{text!r} is no rule. Write <recipe>/<type>, such as system-monitoring/system_event.")
    room = found["room"]
    current_state().recipes.recipe_with(found["type"], recipe=found["recipe"])
    return {
        "conversation_id": find_room(room, **who) if room else None,
        "recipe": found["recipe"],
        "type": found["type"],
        "from_agents": found["agents"] is not None,
    }


def _check_model(name: str) -> None:
    try:
        current_state().models.for_name(name)
    except ValueError as error:
        raise click.ClickException(str(error)) from None
