"""Names that vulture finds no use of, because the use lies outside of the code: in JSON, in a library, at callers."""
# ruff: noqa
# mypy: ignore-errors

# Kept for independent callers.
load_conversation
create_connection
create_tables
_.get_message_ids
_._extract_referenced_claims

# Fields of requests and answers: clients and the page read and write them.
messageText
checkboxes
summary_till_now
last_updated
conversation_settings
conversation_count
message_index
document_references
variants
progress
suggestions
expected_seconds
tool_calls

# Called or read by libraries: werkzeug, click, SQLAlchemy, pickle, hypothesis, markdown-it, html.parser.
strict_slashes
merge_slashes
implicit_sequence_conversion
automatically_set_content_length
_.get_app_iter
password_stdin
find_class
_.persistent_load
pid
_.teardown
_.do_GET
_.do_POST
_.log_message
_.validateLink
_.handle_starttag
cache_ok

# Read by name through the rows of SETTINGS_TABLE, or by the description of the API through getattr.
database_url
_.takes_form
