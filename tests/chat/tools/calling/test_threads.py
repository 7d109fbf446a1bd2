"""Tools that wait for long have threads of their own."""

from __future__ import annotations

from dataclasses import replace

from chat.agents import asking
from chat.tools.agents import ask_agent
from chat.tools.calling.threads import own_threads, threads_of
from chat.tools.catalogue import all_tools
from endpoints.http.errors import code_of


def test_questions_to_agents_and_calls_of_other_servers_take_no_thread_of_other_tools() -> None:
    others = list(map(all_tools(code_of=code_of).get, all_tools(code_of=code_of).names()))
    assert {tool.name for tool in others if threads_of(tool) is not own_threads()} == {"ask_agent"}
    remote = threads_of(replace(others[0], is_remote=True))
    assert len({own_threads(), remote, threads_of(ask_agent)}) == 3


def test_there_is_a_thread_for_each_question_that_may_wait() -> None:
    assert threads_of(ask_agent)._count == asking._AT_ONCE


def test_a_tool_of_a_package_that_hangs_holds_up_no_other() -> None:
    others = list(map(all_tools(code_of=code_of).get, all_tools(code_of=code_of).names()))[:2]
    one, another = (threads_of(replace(each, is_installed=True)) for each in others)
    assert len({one, another, own_threads()}) == 3
    assert threads_of(replace(others[0], is_installed=True)) is one
