"""Which addresses people's own tool servers may have.

A name is resolved, what it resolves to is checked, and the connection goes to the checked address: a name that
resolves to something else the next time leads nowhere else.
"""

from __future__ import annotations

import ipaddress
import socket
from functools import cache, partial
from typing import Literal
from urllib.parse import urlsplit

from chat.processes.threads import WorkerThreads

Reach = Literal["public", "private"]
"""public: https to public addresses. private: also private networks and this machine, and those also by http."""
IPAddress = ipaddress.IPv4Address | ipaddress.IPv6Address
_THREADS = 16
_PRIVATE = tuple(
    map(
        ipaddress.ip_network,
        ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "127.0.0.0/8", "::1/128", "fc00::/7"),
    )
)
# What hands out the credentials of a machine, in a range that counts as private.
_METADATA = frozenset(map(ipaddress.ip_address, ("100.100.100.200", "fd00:ec2::254")))
# IPv4 addresses are translated to these; where to, only the translator knows.
_TRANSLATED = tuple(map(ipaddress.ip_network, ("::/96", "64:ff9b::/96", "64:ff9b:1::/48", "2001::/32", "2002::/16")))


class AddressRefusedError(Exception):
    """The address is none that a person's server may have. `message` says why, and quotes nothing."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


def refuse_at_once(url: str, reach: Reach) -> None:
    """Raise AddressRefusedError for what can be told to be refused before any name is resolved."""
    parts = urlsplit(url)
    if parts.scheme != "https" and reach != "private":
        raise AddressRefusedError("The address of a tool server begins with https://.")
    try:
        address = ipaddress.ip_address(parts.hostname or "")
    except ValueError:
        return  # a name
    check_address(address, scheme=parts.scheme, reach=reach)


async def checked_address(host: str, port: int, *, scheme: str, reach: Reach) -> str:
    """An address that `host` resolves to. Raises AddressRefusedError where one of them is refused, OSError."""
    found = await _resolvers().on_loop(partial(lookup, host, port))
    for each in found:
        check_address(ipaddress.ip_address(each), scheme=scheme, reach=reach)
    return found[0]


def lookup(host: str, port: int) -> list[str]:
    """The addresses of a name, at least one. Raises OSError."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    # A link-local address ends in the name of its interface.
    return [str(address[0]).partition("%")[0] for *_, address in found]


@cache
def _resolvers() -> WorkerThreads:
    """Threads of their own: a name server that does not answer holds up nothing but these lookups."""
    return WorkerThreads(_THREADS, name="tool-server-lookup")


def check_address(address: IPAddress, *, scheme: str, reach: Reach) -> None:
    """Raise AddressRefusedError unless a connection may go to this address.

    Link-local, multicast, reserved and metadata addresses are always refused.
    """
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
        address = address.ipv4_mapped
    if address in _METADATA or not (_is_private(address) or _is_public(address)):
        raise AddressRefusedError("This address is never asked.")
    if _is_private(address) and reach != "private":
        raise AddressRefusedError("Addresses of private networks and of this machine are not allowed here.")
    if scheme != "https" and not _is_private(address):
        raise AddressRefusedError("A server outside of this network is asked by https:// alone.")


def _is_private(address: IPAddress) -> bool:
    return any(address in network for network in _PRIVATE)


def _is_public(address: IPAddress) -> bool:
    is_special = address.is_multicast or address.is_reserved or address.is_link_local or address.is_unspecified
    is_site = isinstance(address, ipaddress.IPv6Address) and address.is_site_local
    is_translated = any(address in network for network in _TRANSLATED)
    return address.is_global and not (is_special or is_site or is_translated)
