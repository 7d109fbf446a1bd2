"""Castle defense: players talk, build and fight, and the game reports what comes of it."""

from activity.recipes import ActivityType, Recipe

TEXT = {"type": "string"}


def payload(**required):
    """A JSON Schema of objects with these properties, and others as they like."""
    return {"type": "object", "properties": required, "required": list(required)}


class CastleDefense(Recipe):
    """One game session is one thread; events belong to what caused them."""

    domain = "castle-defense-game"
    title = "Castle Defense Game"
    answer_type = "chat_message"
    activity_types = {
        "chat_message": ActivityType(icon="", section="Chat Discussion", schema=payload(text=TEXT)),
        "game_action": ActivityType(icon="🎮", section="Game Actions", schema=payload(type=TEXT)),
        "system_event": ActivityType(icon="🔔", section="System Events", schema=payload(type=TEXT, description=TEXT)),
        "player_state_change": ActivityType(
            icon="📊",
            section="State Changes",
            schema={
                "type": "object",
                "anyOf": [payload(field=TEXT, old={}, new={}), payload(changes={"type": "array", "minItems": 1})],
            },
        ),
    }
    threading_rules = {
        "chat_message": "conversation",
        "game_action": "session",
        "system_event": "reply_to",
        "player_state_change": "session",
    }
