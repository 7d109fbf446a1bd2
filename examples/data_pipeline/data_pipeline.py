"""A data pipeline: what came in, what was made of it, and what went out."""

from activity.recipes import ActivityType, Recipe


def step(icon, section, **properties):
    """A step of the pipeline that counts rows."""
    schema = {"type": "object", "properties": {"rows": {"type": "integer"}, **properties}, "required": ["rows"]}
    return ActivityType(icon=icon, section=section, schema=schema)


class DataPipeline(Recipe):
    """One run (`session_id`) is one thread."""

    domain = "data-pipeline"
    title = "Data Pipeline"
    activity_types = {
        "data_ingestion": step("📥", "Ingestion", source={"type": "string"}),
        "data_transform": step("🔧", "Transforms", step={"type": "string"}),
        "data_export": step("📤", "Exports", target={"type": "string"}),
    }
    threading_rules = dict.fromkeys(activity_types, "session")

    def words_of(self, activity):
        """How many rows, and where they came from or went to."""
        told = activity.payload
        place = told.get("source") or told.get("step") or told.get("target") or ""
        return f"{told['rows']:,} rows {place}".strip()
