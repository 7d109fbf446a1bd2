"""What lies in `deploy/` fits the program: variables, ports, folders, sources and commands are those that there are.

No container engine runs here: images are not built, and the manifests are not applied.
"""

from __future__ import annotations

import configparser
import ipaddress
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from database.connection import close_store
from endpoints.http.scope import EXTENSION
from server import create_app
from settings import SETTINGS_TABLE, load_settings
from tests.live_server import ROOT

DEPLOY = ROOT / "deploy"
KNOWN = {row.name for row in SETTINGS_TABLE}
# Of Python; of PostgreSQL's image; of the file that names what composing needs.
OTHERS = {"PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED"}
OF_POSTGRESQL = {"POSTGRES_USER", "POSTGRES_DB", "POSTGRES_PASSWORD_FILE"}
DIGESTS = {"PYTHON_DIGEST", "CADDY_DIGEST", "POSTGRESQL_DIGEST", "VALKEY_DIGEST"}
OF_COMPOSING = {
    "ANAPHORA_DOMAIN",
    "ANAPHORA_DRAIN_SECONDS",
    "ANAPHORA_SERVERS",
    "POSTGRESQL_SHARED_BUFFERS",
} | DIGESTS
STOP_SECONDS = 20
"""How long a server takes to stop beyond what its settings leave running answers."""
SECRETS = {row.name for row in SETTINGS_TABLE if re.search("KEY|URL|SECRET", row.name)}


@cache
def dockerfile() -> list[tuple[str, str]]:
    """The instructions of the Dockerfile, each with what follows it."""
    text = "\n".join(
        line for line in (DEPLOY / "Dockerfile").read_text(encoding="utf-8").splitlines() if not line.startswith("#")
    )
    lines = [line for line in text.replace("\\\n", " ").splitlines() if line.strip()]
    return [(word, " ".join(rest.split())) for word, _, rest in (line.partition(" ") for line in lines)]


def instructions(word: str) -> list[str]:
    """What follows each `word` in the Dockerfile."""
    return [rest for each, rest in dockerfile() if each == word]


def copied() -> list[str]:
    """The files and folders of the repository that the Dockerfile copies."""
    return [name for rest in instructions("COPY") if not rest.startswith("--from") for name in shlex.split(rest)[:-1]]


def environment() -> dict[str, str]:
    """The variables of the image."""
    return dict(pair.split("=", 1) for rest in instructions("ENV") for pair in shlex.split(rest))


def composed() -> dict[str, Any]:
    """The compose file."""
    found: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))
    return found


def manifests() -> dict[str, Any]:
    """The Kubernetes manifests, by kind."""
    documents = yaml.safe_load_all((DEPLOY / "kubernetes.yaml").read_text(encoding="utf-8"))
    return {document["kind"]: document for document in documents}


@pytest.fixture
def routes(tmp_path: Path) -> Iterator[frozenset[str]]:
    """The paths that the server answers."""
    settings = load_settings({"ANAPHORA_MAIN_MODEL": "none", "ANAPHORA_DATA_DIR": str(tmp_path / "data")})
    app = create_app(settings, serves=False)
    yield frozenset(rule.rule for rule in app.url_map.iter_rules())
    app.extensions[EXTENSION].knowledge.close()
    close_store(settings.users_dir)


def test_the_image_copies_what_is_there_and_all_that_a_server_needs(tmp_path: Path) -> None:
    names = copied()
    assert [name for name in names if not (ROOT / name).exists()] == []
    for name in set(names) - {"interface", "setup"}:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, tmp_path / name, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, tmp_path / name)
    (tmp_path / "interface").symlink_to(ROOT / "interface")
    script = (
        "import server, settings; app = server.create_app(settings.load_settings());"
        "client = app.test_client(); print([client.get(path).status_code for path in ('/healthz', '/setup')])"
    )
    environ = {"ANAPHORA_DATA_DIR": str(tmp_path / "data"), "ANAPHORA_MAIN_MODEL": "none", "PATH": "/usr/bin:/bin"}
    ran = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, env=environ, capture_output=True, text=True, check=False
    )
    assert (ran.stdout, ran.stderr) == ("[200, 200]\n", "")


def test_the_image_is_built_by_the_set_up_that_make_runs_and_holds_no_secret() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    ran = [rest for rest in instructions("RUN") if rest.startswith("python")]
    assert ran == ["python setup serve"]
    assert f"\t@{ran[0].replace('python', '$(PYTHON)')}\n" in makefile
    bases = {rest.split(" ")[0] for rest in instructions("FROM")}
    assert len(bases) == 1  # the environment was made for the Python of its stage
    assert all(re.fullmatch(r"python:3\.\d+\.\d+-slim-\w+\$\{PYTHON_DIGEST\}", base) for base in bases)
    assert dockerfile()[0] == ("ARG", "PYTHON_DIGEST=")  # of both stages
    assert environment().keys() <= KNOWN | OTHERS
    assert not environment().keys() & SECRETS
    assert instructions("USER") == ["10001"]
    assert instructions("ENTRYPOINT") == ['[".venv/bin/python", "server.py"]']
    ignored = (DEPLOY / "Dockerfile.dockerignore").read_text(encoding="utf-8").split()
    assert {".env", ".venv", "storage", "deploy/secrets", "deploy/.env", ".git"} <= set(ignored)
    assert "deploy/secrets/" in (ROOT / ".gitignore").read_text(encoding="utf-8").split()
    assert not set(ignored) & set(copied())


def test_ports_folders_and_checks_agree(routes: frozenset[str]) -> None:
    image = environment()
    port = int(image["ANAPHORA_PORT"])
    assert instructions("EXPOSE") == [str(port)]
    folders = [image["ANAPHORA_DATA_DIR"], image["ANAPHORA_MODEL_DIR"]]
    assert yaml.safe_load(instructions("VOLUME")[0]) == folders
    (check,) = instructions("HEALTHCHECK")
    path = re.search(rf"http://127\.0\.0\.1:{port}(/\w+)", check)
    assert path is not None
    assert path[1] in routes
    caddy = (DEPLOY / "Caddyfile").read_text(encoding="utf-8")
    assert f"dynamic a server {port} " in caddy
    assert "lb_try_duration" in caddy  # of servers that are found by their name Caddy 2.10 keeps no health
    server = composed()["services"]["server"]
    assert [each.split(":")[1] for each in server["volumes"]] == folders
    container = manifests()["Deployment"]["spec"]["template"]["spec"]["containers"][0]
    assert container["ports"] == [{"name": "http", "containerPort": port}]
    assert [each["mountPath"] for each in container["volumeMounts"]] == [*folders, "/app/.env"]
    probes = [container[f"{name}Probe"]["httpGet"] for name in ("startup", "liveness", "readiness")]
    assert {probe["path"] for probe in probes} <= routes
    assert {probe["port"] for probe in probes} == {"http"}


def test_the_parts_that_compose_starts_know_each_other(tmp_path: Path) -> None:
    file = composed()
    services = file["services"]
    server, proxy, postgresql = services["server"], services["proxy"], services["postgresql"]
    assert server["environment"].keys() <= KNOWN
    assert not server["environment"].keys() & SECRETS
    assert postgresql["environment"].keys() == OF_POSTGRESQL
    text = (DEPLOY / "compose.yaml").read_text(encoding="utf-8")
    assert set(re.findall(r"(?<!\$)\$\{(\w+)", text)) == OF_COMPOSING
    assert (ROOT / server["build"]["dockerfile"]).is_file()
    assert (DEPLOY / server["build"]["context"]).resolve() == ROOT
    assert server["build"]["args"] == {"PYTHON_DIGEST": "${PYTHON_DIGEST:-}"}
    for name, service in services.items():
        for other, wanted in service.get("depends_on", {}).items():
            assert wanted == {"condition": "service_healthy"}
            assert "healthcheck" in services[other] or other == "server", name
        for secret in service.get("secrets", []):
            assert (secret if isinstance(secret, str) else secret["source"]) in file["secrets"], name
        for volume in service.get("volumes", []):
            source = volume.split(":")[0]
            assert (DEPLOY / source).exists() if source.startswith("./") else source in file["volumes"], name
        assert "image" not in service or re.search(r":v?\d+\.\d+[\w.-]*\$\{\w+_DIGEST:-\}$", service["image"]), name
    address = ipaddress.ip_address(proxy["networks"]["inside"]["ipv4_address"])
    assert address in ipaddress.ip_network(file["networks"]["inside"]["ipam"]["config"][0]["subnet"])
    assert server["environment"]["ANAPHORA_TRUSTED_PROXIES"] == str(address)
    told = "\n".join(re.findall(r"^#.*?((?:DATABASE_URL|REDIS_URL)=\S.*)$", text, re.MULTILINE))
    (tmp_path / ".env").write_text(re.sub("<[^>]*>", "secret", told), encoding="utf-8")
    values = {
        name: re.sub(r"\$\{\w+:-(.*)\}", r"\1", value).replace(
            "${ANAPHORA_DOMAIN:?the public name of this server}", "chat.example.org"
        )
        for name, value in server["environment"].items()
    }
    given = environment() | values | {"ANAPHORA_DATA_DIR": str(tmp_path / "data")}
    settings = load_settings(given, env_file=tmp_path / ".env")
    assert settings.database_url is not None
    assert settings.redis_url is not None
    assert "@postgresql/" in settings.database_url
    assert settings.redis_url.split("@")[1].split(":")[0] in services
    assert settings.allowed_hosts == ("chat.example.org",)
    grace = re.fullmatch(r"(\d+)s", server["stop_grace_period"])
    assert grace is not None
    assert int(grace[1]) >= settings.drain_seconds + STOP_SECONDS


def test_the_manifests_of_kubernetes_fit_each_other_and_the_settings(tmp_path: Path) -> None:
    found = manifests()
    pod = found["Deployment"]["spec"]["template"]
    container = pod["spec"]["containers"][0]
    given = {each["name"]: each["value"] for each in container["env"]}
    assert given.keys() <= KNOWN - SECRETS
    settings = load_settings(given | {"ANAPHORA_DATA_DIR": str(tmp_path)})
    assert settings.allowed_hosts == ("chat.example.org",)
    program, before_signal = container["lifecycle"]["preStop"]["exec"]["command"]
    assert program == "sleep"
    assert int(before_signal) >= 5  # seconds until no proxy sends requests here any more
    grace = pod["spec"]["terminationGracePeriodSeconds"]
    assert grace >= int(before_signal) + settings.drain_seconds + STOP_SECONDS
    assert settings.drain_seconds >= 60  # a rollout cuts no ordinary answer short
    labels = pod["metadata"]["labels"]
    assert found["Deployment"]["spec"]["selector"]["matchLabels"] == labels
    assert found["Service"]["spec"]["selector"] == labels
    volumes = {each["name"]: each for each in pod["spec"]["volumes"]}
    assert {each["name"] for each in container["volumeMounts"]} == volumes.keys()
    claim = volumes["data"]["persistentVolumeClaim"]["claimName"]
    assert claim == found["PersistentVolumeClaim"]["metadata"]["name"]
    assert found["PersistentVolumeClaim"]["spec"]["accessModes"] == ["ReadWriteMany"]
    backend = found["Ingress"]["spec"]["rules"][0]["http"]["paths"][0]["backend"]["service"]
    assert backend["name"] == found["Service"]["metadata"]["name"]
    assert backend["port"]["name"] == found["Service"]["spec"]["ports"][0]["name"]
    assert pod["spec"]["securityContext"]["runAsUser"] == int(instructions("USER")[0])


def test_the_unit_of_systemd_is_one_that_systemd_takes(tmp_path: Path) -> None:
    text = (DEPLOY / "anaphora.service").read_text(encoding="utf-8")
    unit = configparser.ConfigParser(strict=True, interpolation=None)
    unit.read_string(text)
    service = unit["Service"]
    given = dict(pair.split("=", 1) for pair in shlex.split(service["Environment"]))
    assert given.keys() <= KNOWN
    assert given["ANAPHORA_DATA_DIR"] == f"/var/lib/{service['StateDirectory']}"
    assert given["ANAPHORA_MODEL_DIR"] == f"/var/cache/{service['CacheDirectory']}"
    named = re.findall(r"\b((?:ANAPHORA_|DATABASE_URL|REDIS_URL)\w*)=?", text)
    assert set(named) <= KNOWN
    beside = (ROOT / "documentation" / "operations.md").read_text(encoding="utf-8")
    assert [name for name, value in given.items() if f"--setenv={name}={value}" not in beside] == []
    assert shlex.split(service["ExecStart"])[1:] == ["server.py"]
    assert "setup-serve" in (ROOT / "Makefile").read_text(encoding="utf-8")
    verify = shutil.which("systemd-analyze")
    if verify is not None:
        # The program and the account of the unit are not on every machine.
        copy = tmp_path / "anaphora.service"
        here = text.replace("/opt/anaphora/.venv/bin/python", sys.executable).replace("/opt/anaphora", str(ROOT))
        copy.write_text(re.sub("=anaphora$", "=root", here, flags=re.MULTILINE), encoding="utf-8")
        told = subprocess.run([verify, "verify", str(copy)], capture_output=True, text=True, check=False)
        assert [line for line in told.stderr.splitlines() if "anaphora" in line] == []


def test_the_documentation_says_where_the_digest_of_each_image_goes() -> None:
    text = (ROOT / "documentation" / "operations.md").read_text(encoding="utf-8")
    tags = {re.sub(r"\$\{.*", "", each["image"]) for each in composed()["services"].values() if "image" in each}
    tags |= {re.sub(r"\$\{.*", "", rest) for rest in instructions("FROM")}
    assert {name for name in DIGESTS | tags if f"`{name}`" not in text} == set()


@pytest.mark.parametrize("file", sorted({path.name for path in DEPLOY.iterdir()} - {".env", "secrets"}))
def test_each_file_is_named_in_the_documentation(file: str) -> None:
    assert f"deploy/{file}" in (ROOT / "documentation" / "operations.md").read_text(encoding="utf-8")
