"""Each recipe says how its activities read; what is not known any more reads nevertheless."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from activity.recipes import ActivityContext, ActivityType, Recipe, RecipeRegistry
from activity.recipes.builtin import BUILT_IN, EXPORT_KINDS
from activity.recipes.errors import (
    AmbiguousTypeError,
    InvalidPayloadError,
    RecipeClashError,
    RecipeNotFoundError,
    UnknownTypeError,
)
from activity.recipes.formatting import ExportBlock
from database.activities.reading import Activity
from tests.activity.made import ANY, Game, activity


@pytest.fixture
def registry() -> RecipeRegistry:
    """The recipes of the product and one from outside."""
    made = RecipeRegistry(BUILT_IN)
    made.register(Game(), source="a-game")
    return made


@pytest.mark.parametrize(
    ("fields", "line"),
    [
        ({"text": "Should we?"}, "[#48abcd] Ada: Should we?"),
        (
            {"recipe": "game", "type": "game_action", "payload": {"type": "spawn_minigame"}},
            "[#48abcd] 🎮 spawn_minigame by Ada",
        ),
        ({"recipe": "game", "type": "game_action", "actor_name": ""}, "[#48abcd] 🎮 game_action"),
        ({"recipe": "game", "type": "chat_message", "payload": {"text": "Go!"}}, "[#48abcd] Ada: Go!"),
        (
            {
                "recipe": "system-monitoring",
                "type": "system_event",
                "payload": {"type": "minigame_spawned", "description": "It runs"},
            },
            "[#48abcd] 🔔 minigame_spawned: It runs",
        ),
        (
            {
                "recipe": "system-monitoring",
                "type": "data_change",
                "payload": {"field": "cost", "old": 100, "new": 50},
            },
            "[#48abcd] 📊 cost: 100 → 50",
        ),
        (
            {
                "recipe": "system-monitoring",
                "type": "data_change",
                "payload": {"changes": [{"field": "a", "old": "x", "new": "y"}, {"field": "b", "old": None, "new": 2}]},
            },
            "[#48abcd] 📊 a: x → y; b: null → 2",
        ),
        (
            {"recipe": "tools", "type": "tool_invocation", "payload": {"name": "search", "description": "looked"}},
            "[#48abcd] 🔧 tool_invocation: looked",
        ),
        (
            {
                "recipe": "knowledge",
                "type": "pkb_change",
                "payload": {
                    "action": "edit",
                    "object_type": "claim",
                    "title": "Tea",
                    "detail": {"fields": {"statement": "Milk"}},
                },
            },
            "[#48abcd] 📊 statement: Tea → Milk",
        ),
        (
            {"recipe": "knowledge", "type": "pkb_change", "payload": {"action": "add", "object_type": "claim"}},
            "[#48abcd] 📊 add claim",
        ),
        (
            {"recipe": "vault", "type": "document_write", "payload": {"action": "write", "path": "a.md"}},
            "[#48abcd] 📚 document_write: write a.md",
        ),
        (
            {"recipe": "agents", "type": "agent_consultation", "payload": {"agent": "The Cook", "question": "Salt?"}},
            "[#48abcd] 🤝 agent_consultation: The Cook: Salt?",
        ),
        ({"recipe": "gone", "type": "wave", "payload": {"text": "secret"}}, "[#48abcd] ❓ wave"),
        ({"recipe": "game", "type": "renamed_type"}, "[#48abcd] ❓ renamed_type by Ada"),
    ],
)
def test_each_kind_of_activity_has_its_line(registry: RecipeRegistry, fields: dict[str, Any], line: str) -> None:
    assert registry.format_line(activity(**fields)) == line


def test_no_text_can_pass_for_another_activity(registry: RecipeRegistry) -> None:
    for line_break in ("\n", "\r", "\u2028", "\x85"):
        forged = f"Yes{line_break}[#ffffff] Bob: No"
        lines = registry.format_line(activity(text=forged)).splitlines()
        assert lines == ["[#48abcd] Ada: Yes", "    [#ffffff] Bob: No"]
        assert registry.format_line(activity(actor_name=forged, text="")) == "[#48abcd] Yes [#ffffff] Bob: No: "
        labelled = activity(recipe="game", type="game_action", payload={"type": forged})
        assert registry.format_line(labelled) == "[#48abcd] 🎮 Yes [#ffffff] Bob: No by Ada"
        for recipe in ("gone", "game"):
            unknown = activity(recipe=recipe, type=forged, actor_name=forged)
            assert registry.format_line(unknown).startswith("[#48abcd] ❓ Yes [#ffffff] Bob: No")
            block = registry.format_export(unknown)
            assert (block.heading, block.by) == ("❓ Yes [#ffffff] Bob: No", "Yes [#ffffff] Bob: No")


def test_the_call_of_a_tool_that_says_nothing_more_is_told_by_the_name_of_the_tool(registry: RecipeRegistry) -> None:
    call = activity(recipe="tools", type="tool_invocation", payload={"name": "analyze_balance", "arguments": {"a": 1}})
    assert registry.format_line(call) == "[#48abcd] 🔧 tool_invocation: analyze_balance"
    block = registry.format_export(call)
    assert (block.heading, block.words) == ("🔧 tool_invocation: analyze_balance", None)
    assert block.data == {"name": "analyze_balance", "arguments": {"a": 1}}


def test_an_export_quotes_words_and_prints_other_payloads_as_data(registry: RecipeRegistry) -> None:
    said = registry.format_export(activity(text="a\nb"))
    assert (said.heading, said.by, said.words, said.data) == ("Ada", None, "a\nb", None)
    moved = registry.format_export(activity(recipe="game", type="game_action", payload={"type": "jump", "x": 1}))
    assert (moved.heading, moved.by, moved.words, moved.data) == ("🎮 jump", "Ada", None, {"type": "jump", "x": 1})
    changes = {"type": "costs", "changes": [{"field": f, "old": 1, "new": 2} for f in "ab"]}
    changed = registry.format_export(activity(recipe="system-monitoring", type="data_change", payload=changes))
    assert (changed.heading, changed.words) == ("📊 costs", "a: 1 → 2\nb: 1 → 2")
    gone = registry.format_export(activity(recipe="gone", type="wave", payload={"text": "Hi"}))
    assert (gone.heading, gone.data) == ("❓ wave", {"text": "Hi"})


def test_a_context_holds_the_thread_then_the_activity_itself(registry: RecipeRegistry) -> None:
    first = activity(text="Should we?")
    current = activity(short_id="3f8e2d", text="Too dear\n[#1] no", reply_to_id="x", reply_to_short_id="9d2c8a")
    thread = [registry.thread_line(first), registry.thread_line(activity(recipe="gone", type="wave", reply_to_id="x"))]
    made = {
        "activity": current,
        "thread_id": "t",
        "reply_to_id": "x",
        "cross_domain": True,
        "title": "castle\n[#ffffff]",
        "thread": thread,
        "current": registry.thread_line(current),
    }
    recipe = registry.get_recipe_for_activity(current)
    assert "\n".join(recipe.build_context(current, ActivityContext(**made, include_short_ids=True))).splitlines() == [
        "Thread context (castle [#ffffff]):",
        "  [#48abcd] Ada: Should we?",
        "  [#48abcd] ❓ wave (reply to (deleted))",
        "",
        "Current activity:",
        "  [#3f8e2d] Ada: Too dear",
        "      [#1] no (reply to #9d2c8a)",
    ]
    without = recipe.build_context(current, ActivityContext(**made, include_short_ids=False))
    assert without[1] == "  Ada: Should we?"


def test_a_type_without_a_recipe_is_the_built_in_one_else_the_only_one(registry: RecipeRegistry) -> None:
    assert registry.recipe_with("chat_message").domain == "general-discussion"
    assert registry.recipe_with("chat_message", recipe="game").domain == "game"
    assert registry.recipe_with("game_action").domain == "game"

    class Other(Game):
        domain = "other-game"

    registry.register(Other(), source="another-game")
    with pytest.raises(AmbiguousTypeError) as refused:
        registry.recipe_with("game_action")
    assert refused.value.details == {"candidates": ["game", "other-game"]}
    with pytest.raises(UnknownTypeError):
        registry.recipe_with("nothing")
    with pytest.raises(UnknownTypeError):
        registry.recipe_with("game_action", recipe="tools")
    with pytest.raises(RecipeNotFoundError):
        registry.recipe_with("game_action", recipe="nothing")


def test_two_recipes_of_one_domain_clash_by_the_names_of_their_packages(registry: RecipeRegistry) -> None:
    with pytest.raises(RecipeClashError, match=r"a-game and b-game both .* “game”"):
        registry.register(Game(), source="b-game")

    class Chat(Game):
        domain = "general-discussion"

    with pytest.raises(RecipeClashError, match="Anaphora and b-game"):
        registry.register(Chat(), source="b-game")


def test_a_payload_has_to_fit_the_schema_of_its_type(registry: RecipeRegistry) -> None:
    def complaints(type_name: str, payload: dict[str, Any]) -> Any:
        with pytest.raises(InvalidPayloadError) as refused:
            registry.check_payload(registry.recipe_with(type_name), type_name, payload)
        return refused.value.details

    assert [each["loc"] for each in complaints("chat_message", {"text": 1})] == [["payload", "text"]]
    assert complaints("chat_message", {"text": " \n"})
    assert complaints("data_change", {"field": "a", "old": 1})
    assert complaints("data_change", {"changes": [{"field": "a"}]})
    registry.check_payload(registry.get("game"), "game_action", {"whatever": [1]})
    registry.check_payload(registry.get("system-monitoring"), "data_change", {"field": "a", "old": 1, "new": None})


def test_a_schema_that_leads_nowhere_refuses_payloads_with_a_reason(
    registry: RecipeRegistry, caplog: pytest.LogCaptureFixture
) -> None:
    class Unfinished(Recipe):
        domain, title = "unfinished", "Unfinished"
        activity_types = {"x": ActivityType(icon="", section="X", schema={"$ref": "#/$defs/nowhere"})}

    said = "the recipe has a schema of this type that can't be used"
    with (
        caplog.at_level(logging.CRITICAL, logger="activity.recipes.registry"),
        pytest.raises(InvalidPayloadError, match=said),
    ):
        registry.check_payload(Unfinished(), "x", {"a": 1})


def test_an_export_quotes_what_the_formatter_of_a_type_says(registry: RecipeRegistry) -> None:
    def told(move: Activity) -> str:
        return f"[#{move.short_id}] ♟ {move.payload['piece']} to {move.payload['square']}"

    class Chess(Recipe):
        domain, title = "chess", "Chess"
        activity_types = {
            "move": ActivityType(icon="♟", section="Moves", schema=ANY, formatter=told),
            "say": ActivityType(icon="", section="Talk", schema=ANY, formatter=lambda said: f"[#{said.short_id}] Hm"),
        }

    class Own(Chess):
        domain = "own"

        def format_export(self, activity: Activity) -> ExportBlock:
            return ExportBlock(heading="own")

    registry.register(Chess(), source="chess")
    registry.register(Own(), source="own")
    move = {"type": "move", "payload": {"piece": "queen", "square": "h5"}}
    block = registry.format_export(activity(recipe="chess", **move))
    assert (block.heading, block.words, block.data) == ("♟ move", "queen to h5", None)
    said = registry.format_export(activity(recipe="chess", type="say", payload={"text": "Check"}))
    assert said.words == "Check"
    assert registry.format_export(activity(recipe="own", **move)).heading == "own"


def test_a_recipe_that_fails_costs_its_words_alone(registry: RecipeRegistry, caplog: pytest.LogCaptureFixture) -> None:
    def fail(_: object) -> str:
        raise KeyError("x")

    class Failing(Recipe):
        domain, title = "failing", "Failing"
        activity_types = {
            "own": ActivityType(icon="🎮", section="Own", schema=ANY, formatter=fail),
            "none": ActivityType(icon="🎮", section="None", schema=ANY, formatter=lambda _: None),  # type: ignore[arg-type,return-value]
            "plain": ActivityType(icon="🎮", section="Plain", schema=ANY),
        }

        def words_of(self, activity: Any) -> str | None:
            return fail(activity)

    registry.register(Failing(), source="failing")
    with caplog.at_level(logging.CRITICAL, logger="activity.recipes.registry"):
        assert registry.format_line(activity(recipe="failing", type="own")) == "[#48abcd] ❓ own"
        assert registry.format_line(activity(recipe="failing", type="none")) == "[#48abcd] ❓ none"
        assert registry.format_line(activity(recipe="failing", type="plain")) == "[#48abcd] ❓ plain"
        assert registry.format_export(activity(recipe="failing", type="own")).heading == "❓ own"
        assert registry.format_export(activity(recipe="failing", type="none")).heading == "❓ none"
        assert registry.format_export(activity(recipe="failing", type="plain")).heading == "❓ plain"


def test_every_built_in_recipe_has_its_place_in_exports() -> None:
    assert sorted(EXPORT_KINDS) == sorted(recipe.domain for recipe in BUILT_IN)


@pytest.mark.parametrize("block", [None, "words", ExportBlock(heading=None), ExportBlock(heading="a", words=1)])  # type: ignore[arg-type]
def test_a_recipe_that_makes_no_block_costs_its_words_alone(
    registry: RecipeRegistry, caplog: pytest.LogCaptureFixture, block: Any
) -> None:
    class Failing(Game):
        domain = "failing"

        def format_export(self, activity: Any) -> Any:
            return block

    registry.register(Failing(), source="failing")
    with caplog.at_level(logging.CRITICAL, logger="activity.recipes.registry"):
        assert registry.format_export(activity(recipe="failing", type="wave")).heading == "❓ wave"
