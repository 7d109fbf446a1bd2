"""Sets up what `make serve`, `make serve-scaled` or `make test` needs: `python setup serve|scaled|test`.

Needs only Python; what is set up already is left as it is.
"""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor

from assets import prepare_assets
from browser import prepare_browser
from environment import SetupError, prepare_commands, prepare_environment
from joined_page import prepare_joined_page
from stamps import set_up_alone


def main(purpose: str) -> None:
    """Set up for `purpose`: "serve", "scaled" or "test". Concurrent runs wait for each other."""
    dev = purpose == "test"
    with set_up_alone():
        with ThreadPoolExecutor(1) as beside:
            assets = beside.submit(prepare_assets, dev=dev)
            prepare_environment(dev=dev, scaled=purpose == "scaled")
            assets.result()
        prepare_joined_page()
        if dev:
            prepare_browser()
            prepare_commands()


if __name__ == "__main__":
    if sys.argv[1:] not in (["serve"], ["scaled"], ["test"]):
        sys.exit("usage: python setup (serve | scaled | test)")
    try:
        main(sys.argv[1])
    except SetupError as error:
        sys.exit(f"Set-up stopped: {error}")
    except KeyboardInterrupt:
        sys.exit("Set-up was broken off. The same command begins it again.")
