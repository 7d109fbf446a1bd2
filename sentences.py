"""What the server tells a person while an answer is made, and about references: each sentence by its code.

Programs, the terminal and the log get the English text. A page says the sentence in the person's language, by its code
and values; the words are in `said.js` and `said_later.js` of `interface/static/page/strings/<language>`. What is stored
has both, so that it can be read in another language later.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from string import Formatter
from types import MappingProxyType
from typing import Any, Self

Value = str | int

_TURN = {
    "agent_alone": "Nothing of this conversation is kept, so {agent} alone answers.",
    "agent_gone": "The agent {agent} is not there any more: {instead} answers instead.",
    "asked_for_hidden": "The question, which a model wrote, refers to messages that are hidden from models: {refs}. "
    "They stay hidden.",
    "agents_later": "{agents} will answer later: the message waits in the inbox.",
    "inbox_chain_stopped": "Agents have answered {count} times in a row, each other at last. They stop here. What "
    "they did not answer has failed in their inboxes, where it can be tried again.",
    "inbox_paused": "{agent} has answered {count} times within an hour, as often as it may by itself. What is left "
    "waits in its inbox.",
    "inbox_waits": "{agent} waits with its answer to #{short_id}.",
    "inbox_not_given": "{agent} was not given all of what #{short_id} names.",
    "inbox_failed": "{agent} could not answer #{short_id}.",
    "inbox_crashed": "The server stopped {count} times while this was answered.",
    "model_gone": "{model}, which this conversation has chosen, is not there any more: {instead} answers instead.",
    "model_of_agent_gone": "{model}, which {agent} has chosen, is not there any more: {instead} answers instead.",
    "preferences_cut": "What you wrote about yourself is too long for this model: it gets the beginning.",
    "system_prompt_cut": "The system prompt is too long for this model: it gets the beginning.",
    "too_long_for_model": "All of it is too long for the model.",
    "older_messages_left_out": "Older messages are left out.",
    "references_cut": "What goes with your message is cut, as its references say.",
    "condensed_cut": "What was condensed is cut.",
    "stopped": "Stopped.",
    "server_stopped": "The server stopped in the middle of this answer.",
    "not_stored": "This answer could not be stored as it came, and was stopped.",
    "asker_gone": "The program that asked went away in the middle of this answer.",
    "kept": "What was said is kept.",
    "not_kept": "What was said is not kept.",
    "deleted_before_asked": "This conversation was deleted before the model was asked.",
    "fault": "Something went wrong here. The server's log says what.",
    "said_nothing": "The model ended without saying anything. Try again, or ask in other words.",
    "thought_only": "The model used up all tokens of its answer by thinking, and said nothing. Allow longer answers "
    "(ANAPHORA_ANSWER_TOKENS), or ask for less at once.",
    "filtered": "The content filter of the provider of {model} let no answer through. Ask in other words.",
    "tools_only": "The model called tools again and again and gave no answer. Ask for less at once.",
}
_CUT_ANSWERS = {
    "cut_by_message": "The answer was cut at {tokens:,} tokens, as the settings of this message say.",
    "cut_by_conversation": "The answer was cut at {tokens:,} tokens, as the settings of this conversation say.",
    "cut_by_server": "The answer was cut at {tokens:,} tokens, which ANAPHORA_ANSWER_TOKENS allows {model}.",
    "cut_at_limit": "The answer was cut at its limit of {tokens:,} tokens.",
    "cut_by_window": "The answer was cut: with it, {model}'s window of {tokens:,} tokens is full.",
    "cut_by_provider": "The provider of {model} cut the answer at a limit of its own.",
    "cut_by_filter": "The content filter of the provider of {model} cut the answer.",
    "cut_by_model": "{model} cut the answer at a limit of its own.",
    "ask_to_go_on": "Ask the model to go on where it stopped.",
}
_MODEL = {
    "model_not_loaded": "The model is loaded when it is first needed.",
    "model_fetching": "The model is being fetched: {percent} %",
    "model_fetching_megabytes": "The model is being fetched: {megabytes} MB",
    "model_loading": "The model is being loaded.",
    "model_waits_for_memory": "The model waits for room in memory: another one is answering.",
    "model_restarting": "The model has crashed and is being started again.",
    "model_crashed": "The model has just crashed and is being started again. Try once more.",
    "model_closing": "The model was stopped, as the server stops.",
    "model_busy": "Waiting for the model: it is answering others.",
    "ahead_of_you": "Ahead of you: {count}.",
    "takes_about": "This takes about {seconds} s.",
    "model_silent": "The model does not answer; trying again in {seconds} s",
    "requests_limited": "The provider limits requests; trying again in {seconds} s",
    "model_thinking": "The model is thinking",
    "model_reading": "The model is reading your message and what goes with it.",
    "model_reading_left": "The model is reading {tokens:,} tokens: about {seconds} s left.",
    "model_not_storable": "The model can't be stored.",
    "model_not_fetched": "The model could not be fetched.",
    "model_needs_room": "There is no room for the model.",
    "no_model_file": "There is no model file {path}. Check ANAPHORA_MAIN_MODEL.",
    "model_keeps_crashing": "The model keeps crashing.",
    "model_not_loadable": "The model can't be loaded.",
    "model_stopped": "The model was stopped before it had answered.",
}
_PROVIDERS = {
    "no_main_model": "No language model is configured: set ANAPHORA_MAIN_MODEL, for instance to 'embedded'.",
    "no_embedding_model": "No embedding model is configured: set ANAPHORA_EMBEDDING_MODEL, for instance to 'embedded'.",
    "key_missing": "{model} needs a key: set {setting}.",
    "key_missing_openai": "{model} needs a key: set OPENAI_API_KEY, or OPENAI_BASE_URL for a provider without one.",
    "key_refused": "The provider refuses the API key for {model} ({status}){quote}",
    "quota_used_up": "The account's quota for {model} is used up{quote}",
    "slow_down": "The provider of {model} asks us to slow down{quote}",
    "slow_down_for": "The provider of {model} asks us to wait {seconds:,} s{quote}",
    "model_not_offered": "The provider does not have {model} (404){quote}",
    "provider_out_of_order": "The provider of {model} is out of order ({status}){quote}",
    "no_model_list": "The provider has no list of its models. Name the model in the settings.",
    "provider_late": "{model} at {host} did not begin to answer in time",
    "provider_unreachable": "{model} cannot be reached at {host} ({error})",
    "provider_redirects": "The provider of {model} redirects elsewhere ({status}); check the base URL",
    "request_refused": "The provider refuses the request to {model} ({status}){quote}",
    "prompt_too_long": "Prompt and answer do not fit {model}{quote}",
    "prompt_truncated": "{model} read only {tokens:,} tokens of what it was given: its provider dropped the beginning.",
    "model_broke_off": "{model} broke off in the middle of its answer",
    "model_broke_off_because": "{model} broke off: {quote}",
    "model_fell_silent": "{model} fell silent in the middle of its answer",
    "no_completion": "{model} answered something that is no completion",
}
"""`quote`: what the provider says, after a colon; "" for nothing."""
_CONDENSING = {
    "not_condensed": "The context could not be condensed; everything you named goes in word for word.",
    "partly_condensed": "A part of the context could not be condensed; everything you named goes in word for word.",
    "no_time_to_condense": "{count:less important memory was|less important memories were} left out: "
    "there was no time to condense them.",
    "left_out": "{count:less important memory was|less important memories were} left out.",
    "not_wholly_read": "The model that condenses did not see the whole of {count} of the things you named; they go in "
    "word for word.",
}
_CONVERSATIONS = {
    "malformed_id": "This is no conversation's id.",
    "malformed_number": "The number of a message has no leading zero.",
    "malformed_order": "The range is reversed.",
    "malformed_length": "A range holds at most {most} messages.",
    "malformed_name": "A message is named by its number or its hash of six characters.",
    "no_conversation": "No such conversation.",
    "conversation_deleted": "The conversation was deleted.",
    "conversation_unreadable": "The conversation can't be read.",
    "no_such_activity": "Nothing of yours has this id.",
    "several_activities": "Several things have this id.",
    "conversation_empty": "The conversation has no messages.",
    "conversation_has": "The conversation has {count:message|messages}.",
    "conversation_ends": "The conversation ends at message {index}.",
    "message_deleted": "The message was deleted.",
    "no_such_hash": "No message of this conversation has this hash.",
    "counted_from_one": "Messages are counted from 1.",
    "message_empty": "The message has no text.",
    "message_files": "Files of the message: {names}.",
    "of_file": "{name}.",
    "hidden_from_models": "Hidden from models and left out: {count}.",
    "nothing_but_this": "It holds nothing but this question and its answer.",
    "this_left_out": "This question and its answer are left out.",
    "unfinished_left_out": "The answer that is still being written is left out.",
    "still_written": "This answer is still being written.",
    "cut_to": "Cut to {characters:,} characters.",
    "some_cut_to": "{count} of them cut to {characters:,} characters.",
    "message_cut_to": "Message {index} is cut to {characters:,} characters.",
    "newest_messages": "The newest {shown} of {count} messages.",
    "newest_visible_messages": "The newest {shown} of {count} messages; {hidden} hidden from the model left out.",
    "edited": "edited",
    "other_branch": "other branch",
    "answer_interrupted": "answer interrupted",
    "answer_cancelled": "answer cancelled",
    "answer_failed": "answer failed",
}
_MEMORIES = {
    "no_memory": "No memory or context found with ID: {reference}",
    "several_memories": "{reference!r} names {count} things. Use the id of the one you mean.",
    "memory_contested": "contested",
    "memory_historical": "historical",
    "memory_superseded": "superseded",
    "memory_retracted": "retracted",
    "memory_draft": "draft",
    "memory_expired": "expired",
    "memory_superseded_by": "superseded by {reference}",
    "memory_valid_until": "valid until {date}",
    "memory_valid_from": "valid from {date}",
    "nothing_filed": "Nothing is filed there.",
    "newest_memories": "The newest {shown:,} of {count:,} memories.",
    "attached_that_fit": "Only {shown} of {count} attached memories fit.",
    "memories_did_not_fit": "{count:less important memory was|less important memories were} left out: the model has no "
    "room for more.",
    "memories_fault": "Memories could not be looked through. The server's log says why.",
    "memories_damaged": "The knowledge base is damaged. `flask --app server data verify` says where; a backup brings "
    "it back.",
    "memories_being_checked": "The knowledge base is being checked, since its file is not as this server left it. Try "
    "again soon.",
    "memories_opening": "The knowledge base is still being opened. Try again soon.",
    "memories_closed": "The knowledge base can't be opened. See the log.",
    "memories_unavailable": "The knowledge base is not available.",
}
_REFERENCES = {
    "agent_later": "It answers later: the message waits in its inbox.",
    "no_agent": "There is no such agent: it may have been deleted.",
    "not_corrected": "Similar names are offered for the first {most} only.",
    "most_agents": "At most {most} agents answer one message.",
    "no_document": "Warning: Document not found",
    "several_documents": "Several documents have this name; the first one is taken.",
    "documents_fault": "The vault could not be read. The server's log says why.",
    "document_word_for_word": "Its text goes with the message, since this model has no tools.",
    "document_cut": "Only the first {shown:,} of {count:,} characters are given.",
    "found_by_content": "Found by what it says: the message did not name it.",
    "excerpt_given": "An excerpt is given: {shown:,} of {count:,} characters.",
    "too_many_references": "{count:further reference was|further references were} not followed: "
    "at most {most} in one message.",
    "cut_to_fit": "Cut so that everything named fits the model ({characters:,} characters together).",
    "stopped_before_lookup": "It was not looked up: the answer was stopped before.",
    "lookup_fault": "It could not be looked up. The server's log says why.",
    "lookup_fault_after_stop": "It could not be looked up after the server had stopped. The server's log says why.",
}
_SEARCH = {
    "messages_by_words": "Messages were searched by their words alone: the embedding model did not answer.",
    "not_all_messages": "Not all of very many messages are listed.",
    "memories_not_searched": "Memories could not be searched just now.",
    "filters_for_messages": "Filters are for messages: only those were looked for.",
    "no_such_filter": "“{filter}” is no filter that can be read: it was looked for as words.",
    "best_shown": "The best {count:,} are shown; narrow the search or filter.",
    "meaning_left_out": "Search by meaning took no part.",
    "meaning_without_model": "Search by meaning took no part: no embedding model is configured.",
    "meaning_not_prepared": "Search by meaning took no part: the memories are still being prepared for it.",
    "meaning_failed": "Search by meaning took no part: it failed. The log says why.",
    "meaning_late": "Search by meaning took no part: the embedding model did not answer in time.",
    "not_widened": "The question was not widened.",
    "findings_not_judged": "The findings were not judged.",
    "none_helpful": "The model called none of the findings helpful.",
    "is_contested": "This is contested: another memory contradicts it.",
}
_SUGGESTIONS = {
    "no_language_model": "There is no language model.",
    "still_fetched": "The model is still being fetched.",
    "answer_of_no_use": "The model's answer was of no use, twice.",
    "model_late": "The model did not answer in time.",
    "does_not_answer": "The model does not answer.",
    "found_nothing": "The model found nothing there.",
    "would_take_longer": "It would have taken more than {seconds:second|seconds}.",
    "asked_no_more": "The model was asked no more after {seconds:second|seconds}.",
    "no_tags": "No tags.",
    "no_entities": "No entities.",
    "no_triple": "No subject, predicate and object.",
    "type_by_rules": "The type was chosen by rules.",
    "suggested_by_rules": "The suggestions were made by rules.",
    "compared_by_rules": "Statements were compared by rules.",
    "compared_by_words": "Statements were compared by their words alone.",
    "sentences_as_they_are": "Your own sentences were taken as they are, not read by a model.",
    "text_cut": "The text was cut into sentences, not read by a model.",
    "parts_cut": "{count} of {of} parts were cut into sentences, not read by a model.",
}
_TOOL_SERVERS = {
    "tool_server_late": "The server {server} did not answer within {seconds} s.",
    "tool_server_failed": "The server {server} has failed.",
    "tool_server_refused": "The address of the server {server} is not allowed here.",
    "tool_failed": "The tool has failed.",
    "tool_server_of_everybody": "A server of everybody has this name already.",
    "tool_server_name_taken": "Another server of yours has this name already.",
    "most_tool_servers": "A person has at most {most} tool servers.",
    "tool_server_malformed": "A name has lowercase letters, digits and hyphens, 31 at most; an address is "
    "https://host/path.",
}
_FILES = {
    "file_no_text": "No text could be read in it: it may be a scan.",
    "file_encrypted": "It is protected by a password, so its text could not be read.",
    "file_damaged": "It is damaged, so its text could not be read.",
    "file_too_costly": "Reading it would have taken too much memory or time, so its text is not given.",
    "file_partly_read": "It is so long that only the beginning could be read.",
    "file_encoding_guessed": "Its encoding could only be guessed, so its text may be wrong. UTF-8 is read rightly.",
    "file_gone": "The file is not here any more.",
    "file_is_picture": "It is a picture, which has no text.",
    "file_cut": "{shown:,} of {count:,} characters are given.",
    "file_cut_pages": "Pages {first} to {last} of {count} are given, the last of them in part.",
    "file_has_pages": "The file has {count:page|pages}.",
    "message_has_files": "The message has {count:file|files}.",
    "picture_not_seen": "{model} does not see pictures.",
    "too_many_pictures": "It does not go with the message: this model has no room for more pictures.",
}
_REFUSALS = {
    "most_agents_kept": "A person has at most {most} agents. Delete some first.",
    "agent_keeps_name": "The {agent} keeps its name @agent_{name}.",
    "agent_of_everybody": "Everybody has the {agent}: it can be changed, not deleted.",
    "agent_name_malformed": "The name behind @agent_ is of letters, digits and single underscores, at most {most} "
    "characters.",
    "agent_name_taken": "Another agent has this name behind @agent_.",
    "agent_busy": "The agent is answering just now. Try again in a moment.",
    "most_presets": "A person has at most {most} presets. Delete some first.",
    "most_prompts": "A person has at most {most} prompts. Delete some first.",
    "preset_name_taken": "Another preset has this name.",
    "prompt_name_taken": "Another prompt has this name.",
    "tag_malformed": "A tag has 1 to {most} printable characters.",
    "most_tags": "A conversation has at most {most} tags.",
    "most_pinned": "At most {most} memories can be pinned to one conversation.",
    "answer_in_other_branch": "This answer lies in another branch. Choose that branch, then try again.",
    "answer_empty": "This answer is empty, so nothing can be continued. It can be made again.",
    "question_gone": "The question of this answer is not there any more.",
    "no_branches_unkept": "The turns of this conversation are not kept, so its questions have no branches.",
    "said_later": "Something was said after this question. A further answer can only be added to the last turn.",
    "account_exists": "There is an account with this e-mail address already.",
    "no_email_address": "That is not an e-mail address that can be used here.",
    "password_length": "A password has {shortest} to {longest:,} characters.",
    "too_many_attempts": "Too many attempts. Try again in {seconds:second|seconds}.",
    "account_disabled": "This account is disabled. Enable it first.",
    "own_account": "You can't shut yourself out.",
    "share_changed": "The conversation, or its share, changed at the same moment. Try again.",
    "document_path_taken": "Another document has this path.",
    "document_path_folder": "A folder has this path.",
    "document_path_through": "The path leads through a document: where it names a folder, a document lies.",
    "document_no_utf8": "This text is not UTF-8. Writing it would lose what can't be read: save it as UTF-8 first.",
    "path_malformed": "A document's path is relative, with / between folders and without control characters.",
    "path_absolute": "The path is absolute; name it relative to the vault.",
    "path_part_empty": "The path holds an empty part, '.' or '..'.",
    "path_part_long": "A part of the path is too long.",
    "path_hidden": "The path leads into a hidden folder or file.",
    "path_ending": "A document's name ends in {endings}.",
    "path_outside": "The path leads out of the vault.",
    "document_too_large": "The document is larger than {megabytes} MiB.",
    "archive_unreadable": "The archive is damaged, encrypted, or no ZIP archive.",
    "agent_title_missing": "An agent has a title.",
    "workspace_name_length": "A workspace has a name of 1 to {most} characters.",
    "workspace_below_itself": "A workspace can't lie below itself.",
    "workspace_other_domain": "The workspace belongs to another domain.",
    "default_workspace_not_moved": "The default workspace can't be moved.",
    "default_workspace_not_deleted": "The default workspace can't be deleted.",
    "settings_too_long": "The settings of a conversation take at most {most:,} characters.",
    "copy_still_made": "The copy under this client_id is still being made. Ask again in a moment.",
    "conversation_id_taken": "Another conversation has this friendly id.",
    "list_page_gone": "This page of the list does not exist. Start again from the first.",
    "file_in_use": "A message uses this file.",
    "file_is_here_already": "What the file holds is here already, or a part of it.",
    "message_not_movable": "A message stays in its conversation, between the messages around it. Fork the conversation "
    "there, or clone it, to go on elsewhere.",
    "nothing_posted_unkept": "Nothing of this conversation is kept, so nothing can be posted to it.",
    "import_moved_on": "The import is {state}.",
    "message_moved": "The message is not number {index} any more. Reload the conversation, then try again.",
    "message_changed": "The message was changed meanwhile. Look at what it says now, then save again.",
    "message_sent_before": "This message was sent before.",
    "only_answers_again": "Only an answer can be made again.",
    "only_questions_again": "Only a question can be asked again. An answer can be made again as a variant.",
    "further_answers_kept_only": "Only a question that is kept gets further answers.",
    "token_name_length": "A token has a name of 1 to {most} characters.",
    "share_temporary": "A temporary conversation can't be shared: it will not last.",
    "share_nothing_yet": "There is nothing to share yet: the conversation has no finished message.",
    "proposal_decided": "This proposal is {state} already.",
    "proposal_outdated": "The document was changed meanwhile. Look at what the proposal does now, then decide again.",
    "last_administrator": "This is the only administrator, and there are other accounts. Make another administrator "
    "first, or delete the other accounts.",
    "no_own_tool_servers": "People can't join tool servers of their own here.",
    "text_in_parts": "At most {kilobytes} KB of text can be read at once. Give it in parts.",
    "request_too_large": "The request is too large.",
    "invitation_other_email": "This invitation is for another e-mail address.",
    "invitation_bounds": "An invitation is for one e-mail address, or for 1 to {uses} people. It is valid for 1 to "
    "{days} days.",
    "administrators_invite": "Only an administrator invites people.",
    "only_administrator": "This is the only administrator. Make another administrator first.",
    "identity_linked": "This login belongs to another account here.",
    "own_password": "Change your own password in the settings.",
    "own_account_deleted": "Delete your own account in the settings.",
    "current_password_wrong": "The current password is wrong.",
    "fields_not_valid": "Not valid: {fields}.",
    "query_doubled": "Given more than once in the address: {names}.",
    "query_unknown": "Unknown in the address: {names}. Known: {known}.",
    "request_not_valid": "The request is not valid.",
    "file_too_large": "A file may have {megabytes} MB at most.",
    "import_quota_used_up": "The files that you have waiting to be imported may have {megabytes:,} MB together. Let an "
    "import end, or discard one.",
    "upload_no_form": "The body is no form with a file in it.",
    "file_quota_used_up": "Your files and documents have the {megabytes:,} MB that those of one person may have.",
    "picture_too_large": "The picture has too many pixels.",
    "picture_damaged": "The picture is damaged, or of a format that is not known here.",
    "file_type_unknown": "Files of this type can neither be shown nor read here.",
    "half_a_character": "The text has half a character in it, which can't be stored.",
    "archive_too_large": "Too much for one import: {most:,} documents or {megabytes} MiB are the most.",
    "turns_at_once": "{count:of your messages is|of your messages are} being answered, as many as may be at once. Wait "
    "until one of them is done, or stop one. Then send this again.",
    "questions_at_once": "{count:question of yours to an agent waits for its answer|questions of yours to agents wait "
    "for their answers}, as many as may at once. Ask again when one of them is answered.",
    "questions_of_all": "Agents are answering as many questions as this server takes at once. Ask again in a moment.",
    "quota_messages_a_day": "You have reached your limit of messages within a day, {most:,}. There is room again from "
    "{until} on.",
    "quota_tokens_a_day": "Your answers have reached your limit of tokens within a day, {most:,}. There is room again "
    "from {until} on.",
    "quota_tokens_a_month": "Your answers have reached your limit of tokens within a month, {most:,}. There is room "
    "again from {until} on.",
    "message_is_empty": "The message is empty. Write something, or name a reference.",
    "message_too_long": "The message is too long: at most {most:,} characters. Put long texts into several messages.",
    "model_said_nothing": "The model said nothing.",
}
_KNOWLEDGE = {
    "not_done_with_this": "This could not be done with what was given. Nothing was changed.",
    "below_itself": "Cycle: a {what} can't be moved below itself.",
    "memory_id_taken": "The id {reference!r} is taken. Choose another one, or leave it empty.",
    "memory_client_id_taken": "This client_id belongs to another memory, or to one whose adding was undone. Add this "
    "one under an id of its own.",
    "memory_changed": "The memory was changed meanwhile. Look at what it says now, then save again.",
    "most_memories_at_once": "{count} claims are too many; {most} are possible at once.",
    "supersedes_itself": "A claim can't supersede itself.",
    "successor_not_active": "@{reference} is {status} itself. Make it active first.",
    "merge_needs_two": "It takes two claims to make one of them.",
    "no_export_of_memories": 'This is no export of a knowledge base: "data" is missing.',
    "export_version_unknown": "An export of version {version} can't be read; this program reads version 1.",
    "export_not_whole": "The export is not whole.",
    "memory_renamed": "What was @{former} is @{reference} here. @{former} doesn't lead to it: write @{reference}.",
    "undone_already": "This change was undone already.",
    "undo_not_kept": "What was there before this change is not kept any more.",
    "undo_place_taken": "Something else has this name or id now, or what it belonged to is gone. Nothing was undone.",
    "undo_changed_since": "This was changed again since. Undo the later change first.",
    "undo_others_below": "Something else lies below this now. Move or delete that first. Nothing was undone.",
    "undo_there_again": "What was deleted is there again. Nothing was undone.",
    "category_malformed": "{value} is no {what}: use up to 40 letters, digits and '_', a letter first.",
    "category_too_short": "{value!r} is too short for a {what}: use two letters or more.",
    "ends_before_it_begins": "It would end ({end}) before it begins ({begin}).",
    "time_malformed": "{value} is no time for {what}: write it like 2026-02-08T10:00:00Z.",
    "time_not_storable": "{value} is no time that can be stored.",
    "too_many_values": "{count} {what} are too many; {most} are possible.",
    "confidence_malformed": "{value} is no confidence; use a number from 0 to 1.",
    "memory_id_malformed": "{reference} can't be an id: use 3 to 128 letters, digits, '_' and '-', a letter first.",
    "memory_id_reserved": "{reference!r} begins like a reference of another kind. Choose another id.",
    "memory_id_ending": "{reference!r} ends in {ending!r}, which names something of another kind.",
    "text_missing": "The {what} is empty: write something.",
    "text_too_long": "The {what} has {count:,} characters; {most:,} are possible.",
    "text_has_bytes": "The text has {count:,} bytes; {most:,} are possible at once.",
    "conflict_members": "A conflict needs two to {most} different claims.",
    "conflict_winner": "The winner has to be a claim of this conflict that still holds.",
    "conflict_member_status": "A claim that is {status} can't be in conflict with another.",
    "conflict_resolved": "This conflict is resolved already.",
    "tag_merged_with_itself": "A tag can't be merged with itself: choose another one.",
    "tag_exists": "There is a tag {name!r} in this place already. Use that one.",
    "entity_merged_with_itself": "An entity can't be merged with itself: choose another one.",
    "entity_exists": "There is an entity {name!r} of this type already. Use that one.",
    "memory_of_proposal_gone": "The memory that this is about is not there any more. Add it by itself.",
    "plan_carried_out": "This plan was carried out already. Propose again to add more.",
    "merge_keeps_one": "The claim that is kept has to be one of them.",
}
_IMPORTS = {
    "import_contradiction": "Its identifiers contradict each other.",
    "import_nothing": "Nothing of the file could be imported.",
    "import_no_messages": "It has no messages.",
    "import_no_id": "It has no id, or no messages.",
    "import_same_id": "Another conversation of the file has the same id.",
    "import_no_conversation": "It is not a conversation.",
    "import_damaged": "It is not what it should be.",
    "import_went_on": "You went on with it here, so it stays.",
    "import_went_on_behind": "You went on behind what the import added, so that stays.",
    "import_not_taken_back": "An earlier version imported this without noting what was new, so it stays.",
    "import_changed_since": "You changed it here since, so it stays.",
    "import_folder_used": "Something of yours lies in this folder, so it stays.",
    "import_not_taken_back_here": "Documents, memories and settings can't be taken back here, so they stay.",
    "import_file_not_there": "The file itself is not in the export, so only its name stays.",
    "import_agent_missing": "You have no agent “{name}”, which answered in it, so your own model answers.",
    "import_in_bin": "Deleted here, and in the bin, where it can be restored: "
    "{count:message or other thing|messages and other things}.",
    "import_overlaps": "A part of the file is here already, so that what is new in it was not taken over: "
    "{count:message or other thing|messages and other things}. Import the whole conversation, or everything, instead.",
    "import_references_dropped": "What led to something that is not in the file leads nowhere now: {count:time|times}.",
    "import_texts_differ": "Messages that say something else in the file than here, which stays: {count:,}.",
    "import_no_memories": "It holds no memories of yours.",
    "import_rows_left_out": "Rows that made no sense and were left out: {count:,}.",
    "import_file_changed": "The file has another content than the export says.",
    "import_file_gone": "The file is not there any more.",
    "import_no_conversations": "The file holds no conversation.",
    "imported_already": "The conversation was imported already.",
    "import_circle": "Messages that follow each other in a circle were cut apart.",
    "import_paths_mixed": "What follows several answers to the same question could not be kept apart.",
    "import_place_missing": "Messages whose place in the conversation is missing were put at its beginning.",
    "import_twice": "Of messages with the same id only the first one was kept.",
    "import_encrypted": "The ZIP is encrypted.",
    "import_cut_short": "The file is damaged, or shorter than it says.",
    "import_item_too_long": "It has more than {most:,} bytes.",
    "import_item_too_many": "It has more than {most:,} values.",
    "import_item_too_deep": "It is nested more than {most} levels deep.",
    "import_part_unreadable": "A part of the JSON can't be read.",
    "import_part_endless": "A part of the JSON can't be read, and doesn't end.",
    "import_json_broken": "The JSON can't be read beyond byte {position:,}: {why}",
    "import_ends_early": (
        "The file ends in the middle, at byte {position:,}: its end was cut off. Download or copy it again and import "
        "it: what is here already does not come twice."
    ),
    "import_whole_before": "{count:conversation before that place was|conversations before that place were} read.",
    "import_member_too_long": "{name} has more than {most:,} bytes.",
    "import_member_missing": "{name} holds no file {member}.",
    "import_not_one_file": "{name} is not a single file.",
    "import_zip_damaged": "{name} is a damaged ZIP file, or a part of one. Download or copy it again.",
    "import_folder_many": "The folder holds more than {most:,} files.",
    "import_zip_many": "The ZIP holds more than {most:,} files.",
    "import_zip_unpacked": "The ZIP unpacks to more than {gigabytes} GB.",
    "import_zip_overlaps": "The files of the ZIP overlap.",
    "import_zip_twice": "The ZIP holds two files of the same name.",
    "import_zip_outside": "The ZIP names a file outside of itself.",
    "import_zip_method": "The ZIP is packed by a method that is not supported: use deflate.",
    "import_zip_bomb": "{name} in the ZIP unpacks to {size:,} bytes: that is no export.",
    "import_line_too_long": "The line is longer than {most:,} bytes.",
    "import_line_no_json": "The line is no JSON.",
    "import_line_no_object": "The line is no object with a “conversation”.",
    "import_line_role": "Its “role” is neither “user” nor “assistant”.",
    "import_line_text": "Its “text” is no text.",
    "import_archive_schema": "The archive has the schema {schema}; this program reads {known}.",
    "import_document_no_text": "The document is not UTF-8.",
    "import_export_no_json": "This is no JSON.",
    "import_no_json": "{name} is no JSON.",
    "import_no_object": "{name} holds no JSON object.",
    "import_export_no_object": "This is no exported conversation: an object was expected.",
    "import_export_schema": "This is no exported conversation: its schema is not {known}.",
    "import_export_broken": "This is no whole export: {why}",
    "import_earlier_broken": "This is no whole export of an earlier version.",
    "import_half_message": "The activity {short_id} is half a message.",
    "import_activity_elsewhere": "The activity {short_id} lies in a conversation that is not in the file.",
    "import_part_damaged": "{name} is not what it should be: {where}: {why}.",
    "import_memories_not_here": "Memories and settings can't be stored here.",
    "import_documents_not_here": "Documents can't be stored here.",
    "import_file_not_stored": "The file can't be stored: {why}.",
    "import_item_many_messages": "It has more than {most:,} messages.",
    "import_more_lines": "{count:more line is no message|more lines are no messages}.",
    "import_tree_missing": "{count:,} of its messages followed messages that are not in the file.",
    "import_tree_circle": "{count:,} of its messages followed each other in a circle, which was cut.",
    "import_kinds_unknown": "{count:,} of its messages are of a kind that is not known, and have nothing to keep.",
    "import_form_unknown": "{name} is not a file that can be imported. Choose one of these.",
    "import_file_empty": "{name} is empty. Choose the file of an export.",
    "import_expects_account": "Anaphora, everything: the ZIP of *Download everything*.",
    "import_expects_anaphora": "Anaphora: JSON files that this program exported, or a ZIP of them.",
    "import_expects_chatgpt": "ChatGPT: the ZIP of “Export data”, or the conversations.json in it.",
    "import_expects_claude": "Claude: the ZIP of “Export data”, or the conversations.json in it.",
    "import_expects_first_implementation": "the first implementation: a ZIP of its conversation folders, each with an "
    "…-messages.json, its pkb.sqlite, or both.",
    "import_expects_json_lines": "JSON Lines: a message a line, an object with “conversation”, “role” and “text”, or a "
    "ZIP of such files.",
    "import_expects_librechat": "LibreChat: the JSON file of “Export conversation”, or a ZIP of several.",
    "import_expects_open_webui": "Open WebUI: the JSON file of “Export Chats”.",
    "import_expects_zk_chat": "zk-chat: the file .zk_chat_db/chat_sessions.json of a vault.",
    # Where in a file something is that could not be imported.
    "import_place_line": "line {number:,}",
    "import_place_session": "session {name}",
    "import_place_conversation": "conversation {number:,} of {name}",
    "import_no_scratch": "The folder of temporary files can't be used: {why}.",
    "server_says": "{text}",
    "import_erased": "It was erased while it was stored.",
}
SENTENCES: Mapping[str, str] = MappingProxyType(
    _TURN
    | _FILES
    | _CUT_ANSWERS
    | _MODEL
    | _PROVIDERS
    | _CONDENSING
    | _CONVERSATIONS
    | _MEMORIES
    | _REFERENCES
    | _SEARCH
    | _SUGGESTIONS
    | _TOOL_SERVERS
    | _REFUSALS
    | _KNOWLEDGE
    | _IMPORTS
)
"""The English of each sentence by its code. Values are in braces: `{count:page|pages}` is "1 page" or "2 pages"."""
_CODES = {english: code for code, english in SENTENCES.items() if "{" not in english}


def _pattern(english: str) -> re.Pattern[str]:
    """What finds a sentence with its values; whole numbers have commas."""
    parts = [
        re.escape(literal) + (_value_pattern(name, spec or "") if name else "")
        for literal, name, spec, _ in Formatter().parse(english)
    ]
    return re.compile("".join(parts), re.DOTALL)


def _value_pattern(name: str, spec: str) -> str:
    nouns = "|".join(map(re.escape, spec.split("|")))
    return rf"(?P<{name}>{'[0-9,]+' if spec else '.+'})" + (rf" (?:{nouns})" if "|" in spec else "")


_PLACES = {code: _pattern(english) for code, english in _IMPORTS.items() if code.startswith("import_place_")}
# Sentences with values that reports of imports have, which are stored as text.
_REPORTED = {
    code: _pattern(english)
    for code, english in (_FILES | _REFUSALS | _IMPORTS).items()
    if code.startswith(("import_", "file_", "picture_")) and "{" in english and code not in _PLACES
}


class Sentence(str):
    """English text that also says which sentences it is made of.

    said: a `{code, values}` for each sentence that has a code, `{text}` for one in between that has none.
    """

    __slots__ = ("said",)

    said: tuple[Mapping[str, Any], ...]

    def __new__(cls, text: str, said: Sequence[Mapping[str, Any]] = ()) -> Self:
        """`text`, which is what `said` says."""
        sentence = super().__new__(cls, text)
        sentence.said = tuple(said)
        return sentence


NOTHING = Sentence("")


class _Number(int):
    """A whole number that is followed by a noun of its number where the sentence has both."""

    __slots__ = ()

    def __format__(self, spec: str) -> str:
        one, bar, many = spec.partition("|")
        return f"{int(self):,} {one if self == 1 else many}" if bar else super().__format__(spec)


def say(code: str, **values: Value) -> Sentence:
    """The sentence with this code. Raises KeyError for an unknown code or a missing value."""
    numbers = {name: _Number(value) for name, value in values.items() if isinstance(value, int)}
    return Sentence(SENTENCES[code].format(**values | numbers), ({"code": code, "values": values},))


def recognised(text: str) -> Sentence:
    """Stored English text of a report as the sentences that it is; other languages quote text that is none."""
    if text in _CODES:
        return say(_CODES[text])
    for english, code in _CODES.items():
        if code.startswith("import_") and text.startswith(f"{english} "):
            return together(say(code), recognised(text.removeprefix(f"{english} ")))
    for code, pattern in _REPORTED.items():
        if found := pattern.fullmatch(text):
            return say(code, **{name: _value(value) for name, value in found.groupdict().items()})
    return say("server_says", text=text)


def recognised_place(text: str) -> str:
    """Stored English text that says where something is in a file, as that sentence; any other text as it is."""
    for code, pattern in _PLACES.items():
        if found := pattern.fullmatch(text):
            return say(code, **{name: _value(value) for name, value in found.groupdict().items()})
    return text


def _value(text: str) -> Value:
    digits = text.replace(",", "")
    return int(digits) if digits.isdecimal() and text in (digits, f"{int(digits):,}") else text


def together(*sentences: str) -> Sentence:
    """Sentences in a row, the empty ones left out; those of a model or a provider, which have no code, among them."""
    given = [sentence for sentence in sentences if sentence]
    return Sentence(" ".join(given), [part for sentence in given for part in said(sentence) or [{"text": sentence}]])


def because(code: str, *reasons: str, **values: Value) -> Sentence:
    """The sentence with this code, and the reasons for it: "The suggestions were made by rules: There is no …"."""
    what = say(code, **values)
    why = together(*reasons)
    return Sentence(f"{what.removesuffix('.')}: {why}", [*what.said, *why.said])


def said(text: str) -> list[dict[str, Any]]:
    """`text` as a page can say it in another language: see `Sentence`; empty for text that has no code."""
    return [dict(part) for part in text.said] if isinstance(text, Sentence) else []


def says(text: str, code: str) -> bool:
    """Whether the sentence with this code is in `text`."""
    return any(part.get("code") == code for part in said(text))


def otherwise(text: str, code: str) -> Sentence:
    """`text`, which says more than other languages can where it has no code: they get the sentence with this code."""
    return Sentence(text, said(text) or say(code).said)
