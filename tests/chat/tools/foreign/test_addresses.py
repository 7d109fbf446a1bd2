"""Which addresses people's own tool servers may have, whatever their names resolve to."""

from __future__ import annotations

import ipaddress
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import httpx2
import pytest

from chat.tools.foreign import addresses, http
from chat.tools.foreign.addresses import AddressRefusedError, Reach, check_address, refuse_at_once
from chat.tools.foreign.calls import ForeignServerError, call_tool, tools_of
from chat.tools.foreign.configuration import ForeignServer
from tests.chat.tools.foreign.rude_http import RudeServer, serving

PUBLIC = "8.8.8.8 192.88.99.1 ::ffff:8.8.8.8 2606:4700:4700::1111"
PRIVATE = (
    "10.0.0.1 172.31.255.255 192.168.1.1 127.0.0.1 127.9.9.9 100.64.0.1 ::1 fd12::1 ::ffff:127.0.0.1 ::ffff:10.0.0.1"
)
NEVER = (
    "169.254.169.254 169.254.0.1 0.0.0.0 0.1.2.3 192.0.2.1 198.18.0.1 224.0.0.1 240.0.0.1 255.255.255.255 "
    "100.100.100.200 :: fe80::1 fec0::1 ff02::1 fd00:ec2::254 2001:db8::1 ::ffff:169.254.169.254 ::7f00:1 "
    "64:ff9b::7f00:1 64:ff9b:1::a00:1 2002:7f00:1:: 2001:0:1::1"
)
Resolves = Callable[..., list[str]]


def is_allowed(address: str, *, scheme: str, reach: Reach) -> bool:
    with suppress(AddressRefusedError):
        check_address(ipaddress.ip_address(address), scheme=scheme, reach=reach)
        return True
    return False


@pytest.mark.parametrize(
    ("group", "allowed"),
    [
        (PUBLIC, {("https", "public"), ("https", "private")}),
        (PRIVATE, {("https", "private"), ("http", "private")}),
        (NEVER, set()),
    ],
    ids=["public", "private", "never"],
)
def test_each_kind_of_address_is_asked_where_that_is_allowed(group: str, allowed: set[tuple[str, str]]) -> None:
    for address in group.split():
        ways = [(scheme, reach) for scheme in ("https", "http") for reach in ("public", "private")]
        found = {(s, r) for s, r in ways if is_allowed(address, scheme=s, reach=r)}  # type: ignore[arg-type]
        assert found == allowed, address


@pytest.mark.parametrize(
    "url", ["http://example.org/mcp", "https://127.0.0.1/", "https://[::1]:8000/", "https://169.254.169.254/latest"]
)
def test_what_can_be_told_at_once_is_refused_at_once(url: str) -> None:
    with pytest.raises(AddressRefusedError):
        refuse_at_once(url, "public")
    refuse_at_once("https://example.org/mcp", "public")


@pytest.fixture
def rude() -> Iterator[RudeServer]:
    """A server on loopback."""
    with serving() as server:
        yield server


@pytest.fixture
def resolves(monkeypatch: pytest.MonkeyPatch) -> Resolves:
    """Has every name resolve to these addresses, in turn, the last one again and again; the names that were asked."""

    def answer(*found: str) -> list[str]:
        asked: list[str] = []

        def lookup(host: str, _port: int) -> list[str]:
            asked.append(host)
            return [found[min(len(asked), len(found)) - 1]]

        monkeypatch.setattr(addresses, "lookup", lookup)
        return asked

    return answer


def named(rude: RudeServer, *, scheme: str = "http") -> ForeignServer:
    """The server under a name that only `resolves` knows."""
    return ForeignServer(name="rude", url=f"{scheme}://tools.example:{rude.server_address[1]}/mcp", seconds=300)


def test_the_connection_goes_to_the_address_that_was_checked(
    rude: RudeServer, resolves: Resolves, tmp_path: Path
) -> None:
    asked = resolves("127.0.0.1")
    assert len(tools_of(named(rude), tmp_path, reach="private")) == 11
    assert set(asked) == {"tools.example"}
    assert set(rude.hosts) == {f"tools.example:{rude.server_address[1]}"}
    assert len(asked) >= len(rude.hosts)


@pytest.mark.parametrize(("scheme", "reach"), [("https", "public"), ("http", "public")])
def test_a_name_that_resolves_into_this_network_is_not_asked(
    scheme: str, reach: Reach, rude: RudeServer, resolves: Resolves, tmp_path: Path
) -> None:
    resolves("127.0.0.1")
    with pytest.raises(ForeignServerError) as refused:
        tools_of(named(rude, scheme=scheme), tmp_path, reach=reach)
    assert refused.value.reason == "address_refused"
    assert rude.hosts == []


def test_a_name_that_resolves_to_something_else_the_next_time_leads_nowhere_else(
    rude: RudeServer, resolves: Resolves, tmp_path: Path
) -> None:
    resolves("127.0.0.1", "169.254.169.254")
    with pytest.raises(ForeignServerError) as refused:
        tools_of(named(rude), tmp_path, reach="private")
    assert refused.value.reason == "address_refused"
    assert len(rude.hosts) == 1


def test_a_redirect_is_held_to_the_same_rule(rude: RudeServer, tmp_path: Path) -> None:
    server = ForeignServer(name="rude", url=rude.url, seconds=300)
    with pytest.raises(ForeignServerError):
        call_tool(server, tmp_path, "away", {}, reach="private")
    assert rude.visitors == []


@pytest.mark.parametrize(("path", "reason"), [("/mcp/denied", "unauthorized"), ("/mcp/silent", "timeout")])
def test_why_a_server_does_not_answer_is_told(path: str, reason: str, rude: RudeServer, tmp_path: Path) -> None:
    seconds = 0.5 if reason == "timeout" else 300
    server = ForeignServer(name="rude", url=f"http://127.0.0.1:{rude.server_address[1]}{path}", seconds=seconds)
    with pytest.raises(ForeignServerError) as failed:
        tools_of(server, tmp_path, reach="private")
    assert failed.value.reason == reason


def test_a_call_whose_time_is_up_tells_so_also_where_the_machine_was_too_busy_to_end_it_in_time(
    rude: RudeServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answered = http.GuardedTransport._answered

    async def held_up(self: http.GuardedTransport, request: httpx2.Request) -> httpx2.Response:
        time.sleep(http._GOODBYE_SECONDS + 0.2)  # the loop itself is held up
        return await answered(self, request)

    monkeypatch.setattr(http.GuardedTransport, "_answered", held_up)
    url = f"http://127.0.0.1:{rude.server_address[1]}/mcp/silent"
    with pytest.raises(ForeignServerError) as failed:
        tools_of(ForeignServer(name="rude", url=url, seconds=0.1), tmp_path, reach="private")
    assert failed.value.reason == "timeout"


def test_a_server_that_is_not_there_is_unreachable(tmp_path: Path) -> None:
    with serving() as gone:
        server = ForeignServer(name="rude", url=gone.url, seconds=300)
    for reach in (None, "private"):
        with pytest.raises(ForeignServerError) as failed:
            tools_of(server, tmp_path, reach=reach)  # type: ignore[arg-type]
        assert failed.value.reason == "unreachable"


def test_a_server_that_clings_to_its_session_is_left(rude: RudeServer, tmp_path: Path) -> None:
    url = f"http://127.0.0.1:{rude.server_address[1]}/mcp/clinging"
    assert len(tools_of(ForeignServer(name="rude", url=url, seconds=300), tmp_path)) == 11
    assert not rude.released.is_set()
