"""What can be set, where a value comes from, and what happens to a wrong one."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from server import unknown_settings
from settings import SETTINGS_TABLE, Settings, SettingsError, load_settings

ROOT = Path(__file__).parent.parent


@pytest.fixture
def load(tmp_path: Path):
    """Load settings from given variables alone, with the data folder in `tmp_path`."""

    def load(env_text: str = "", *, arguments: tuple[str, ...] = (), **environ: str) -> Settings:
        env_file = tmp_path / ".env"
        env_file.write_text(env_text, encoding="utf-8")
        return load_settings({"ANAPHORA_DATA_DIR": str(tmp_path / "data")} | environ, env_file, arguments=arguments)

    return load


def test_without_any_setting_the_server_is_local_and_answers_with_the_embedded_model(load, tmp_path):
    settings = load()
    assert (settings.host, settings.port) == ("127.0.0.1", 5000)
    assert (settings.main_model, settings.cheap_model, settings.embedding_model) == ("embedded", None, None)
    assert settings.users_dir == str(tmp_path / "data" / "users")
    assert settings.distill_budget is None
    assert settings.allowed_hosts == settings.trusted_proxies == ()
    assert (settings.reference_cap, settings.conversation_cap) == (8000, 24000)


def test_the_environment_wins_over_the_file_and_the_command_line_over_both(load):
    text = "ANAPHORA_PORT=6001\nANAPHORA_THREADS=3\n"
    assert load(text).port == 6001
    assert load(text, ANAPHORA_PORT="6002").port == 6002
    assert load(text, ANAPHORA_PORT="6002", arguments=("--port", "6003")).port == 6003
    assert load(text, ANAPHORA_PORT="6002").threads == 3


def test_a_file_that_may_not_be_read_is_named(load, monkeypatch):
    def refuse(*_, **__):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("settings.dotenv_values", refuse)  # root may read everything
    with pytest.raises(SettingsError, match=r"\.env: can't be read: Permission denied"):
        load("ANAPHORA_PORT=6001\n")


def test_a_file_that_is_not_utf_8_is_named(load, tmp_path):
    (tmp_path / "other.env").write_bytes(b"ANAPHORA_OIDC_NAME=\xfcber\n")
    with pytest.raises(SettingsError, match=r"other\.env: can't be read: it is not UTF-8"):
        load_settings({}, tmp_path / "other.env")


def test_a_misspelt_setting_is_told_with_the_one_that_is_meant(tmp_path):
    (tmp_path / ".env").write_text("ANAPHORA_ALOWED_HOSTS=chat.example.org\n", encoding="utf-8")
    given = {"ANAPHORA_PORT": "80", "ANAPHORA_USER": "ada", "ANAPHORA_QQQ": "1", "HOME": "/"}
    assert unknown_settings(given, tmp_path / ".env") == {
        "ANAPHORA_ALOWED_HOSTS": "ANAPHORA_ALLOWED_HOSTS",
        "ANAPHORA_QQQ": None,
    }


def test_tokens_are_set_for_all_models_or_for_some(load):
    settings = load(ANAPHORA_ANSWER_TOKENS="8000, openai:a=b=700", ANAPHORA_CONTEXT_WINDOW="4096")
    assert settings.answer_tokens == {"": 8_000, "openai:a=b": 700}
    assert settings.context_window == {"": 4_096}


def test_prices_are_of_models_or_of_patterns(load):
    settings = load(ANAPHORA_PRICES="openai:gpt-4o=2.50/10, anthropic:*=3/15", ANAPHORA_CURRENCY="EUR")
    assert settings.prices == {"openai:gpt-4o": (2.5, 10.0), "anthropic:*": (3.0, 15.0)}
    assert settings.currency == "EUR"
    for wrong in ("openai:gpt-4o=2.50", "gpt-4o=1/2", "openai:gpt-4o=-1/2", "1/2"):
        with pytest.raises(SettingsError, match="ANAPHORA_PRICES"):
            load(ANAPHORA_PRICES=wrong)


def test_an_empty_value_counts_as_not_set(load):
    assert load("ANAPHORA_PORT=6001\n", ANAPHORA_PORT="").port == 6001
    assert load(OPENAI_API_KEY="").openai_api_key is None


def test_dollar_signs_in_the_file_are_plain_characters(load):
    assert load("OPENAI_API_KEY=sk-$HOME${PATH}\n").openai_api_key == "sk-$HOME${PATH}"


@pytest.mark.parametrize(
    ("name", "wrong", "hint"),
    [
        ("ANAPHORA_PORT", "http", "whole number from 1 to 65535"),
        ("ANAPHORA_ALLOWED_MODELS", "embedded:small, gpt-4o", "'gpt-4o' names no model"),
        ("ANAPHORA_TURNS_PER_PERSON", "0", "whole number from 1"),
        ("ANAPHORA_ANSWER_TOKENS", "0", "whole number from 1"),
        ("ANAPHORA_ANSWER_TOKENS", "gpt-4o=700", "names no model"),
        ("ANAPHORA_CONTEXT_WINDOW", "openai:gpt-4o=", "whole number from 512"),
        ("ANAPHORA_PORT", "65536", "whole number"),
        ("ANAPHORA_PORT", "５０００", "whole number"),
        ("ANAPHORA_HOST", "my host", "such as 127.0.0.1"),
        ("ANAPHORA_ALLOWED_HOSTS", "chat.example.org, bad/host", "bad/host"),
        ("ANAPHORA_TRUSTED_PROXIES", "127.0.0.1, proxy.example.org", "'proxy.example.org' is not an address"),
        ("ANAPHORA_TRUSTED_PROXIES", "10.1.2.3/8", "'10.1.2.3/8' is not an address or a network"),
        ("ANAPHORA_TRUSTED_PROXIES", "*", "'*' is not an address"),
        ("ANAPHORA_TRUSTED_PROXIES", "0.0.0.0/0", "is everybody"),
        ("ANAPHORA_SECRET_KEY", "short", "32 random characters"),
        ("ANAPHORA_OIDC_ISSUER", "login.example.org", "is no issuer"),
        ("ANAPHORA_OIDC_ISSUER", "http://login.example.org", "https://<host>"),
        ("ANAPHORA_OIDC_ISSUER", "https://login.example.org/?realm=us", "is no issuer"),
        ("ANAPHORA_OIDC_SCOPES", "email profile", "lacks openid"),
        ("ANAPHORA_OIDC_ALLOWED_DOMAINS", "@example.org", "such as example.org"),
        ("ANAPHORA_PASSWORD_SIGN_IN", "no", "'on' or 'off'"),
        ("ANAPHORA_MAIN_MODEL", "gpt", "openai:<model>"),
        ("ANAPHORA_CHEAP_MODEL", "openai:", "openai:<model>"),
        ("ANAPHORA_EMBEDDING_MODEL", "anthropic:claude-x", "embedded, openai:<model> or none"),
        ("OPENAI_BASE_URL", "api.example.org", "such as https://"),
        ("OPENAI_BASE_URL", "https://api.example.org/v1?api-version=1", "leave out"),
        ("ANAPHORA_CONTEXT_WINDOW", "-1", "whole number"),
        ("ANAPHORA_DISTILL_TIMEOUT", "0", "number of seconds above 0"),
        ("ANAPHORA_SYNCHRONOUS", "off", "'normal' or 'full'"),
        ("ANAPHORA_LOG_FORMAT", "xml", "'text' or 'json'"),
        ("DATABASE_URL", "mysql://somebody:secret@db/anaphora", "postgresql+psycopg://"),
        ("DATABASE_URL", "postgresql://somebody:secret@db/anaphora", "postgresql+psycopg://"),
        ("DATABASE_URL", "postgresql+psycopg://somebody:secret@db", "<database>"),
        ("DATABASE_URL", "postgresql+psycopg://somebody:secret@db:port/anaphora", "<database>"),
        ("DATABASE_URL", "postgresql+psycopg://somebody:secret@[db/anaphora", "<database>"),
        ("REDIS_URL", "valkey://somebody:secret@broker", "redis://"),
        ("REDIS_URL", "redis://somebody:secret@", "<host>"),
        ("REDIS_URL", "redis://somebody:secret@broker:port", "<port>"),
        ("REDIS_URL", "redis://somebody:secret@[broker", "<host>"),
        ("REDIS_URL", "unix://", "<path of the socket>"),
        ("ANAPHORA_DATA_DIR", "~nobody-of-this-name/data", "can't be used: Could not determine home directory"),
        ("ANAPHORA_MODEL_DIR", "x" * 300, "can't be used: File name too long"),
        ("ANAPHORA_ALLOWED_HOSTS", "chat.example.org:443", "leave out the port"),
        ("ANAPHORA_ALLOWED_HOSTS", "https://chat.example.org", "leave out https://"),
        ("ANAPHORA_ALLOWED_HOSTS", "2001:db8::1", "IPv6 addresses in brackets"),
        (
            "ANAPHORA_VAULT_FOLDERS",
            "ada@example.org=/srv/a, Ada@example.org=/srv/b",
            "ada@example.org stands in it twice",
        ),
        ("ANAPHORA_CONTEXT_WINDOW", "8000, 9000", "the value for all others stands in it twice"),
        ("ANAPHORA_OIDC_ISSUER", "https://[login", "is no issuer"),
        ("ANAPHORA_OIDC_ISSUER", "https://login.example.org:99999", "is no issuer"),
        ("OPENAI_BASE_URL", "http://models.example.org:port", "is not a web address"),
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://localhost:99999", "is not a web address"),
        ("ANAPHORA_OIDC_CLIENT_ID", "anaphora", "does nothing without ANAPHORA_OIDC_ISSUER"),
        ("ANAPHORA_OIDC_ADMIN_GROUPS", "root", "does nothing without ANAPHORA_OIDC_ISSUER"),
        ("ANAPHORA_OIDC_ALLOWED_DOMAINS", "example.org", "does nothing without ANAPHORA_OIDC_ISSUER"),
    ],
)
def test_a_malformed_value_stops_the_start_with_its_name_and_what_would_be_right(load, name, wrong, hint):
    with pytest.raises(SettingsError) as caught:
        load(**{name: wrong})
    assert str(caught.value).startswith(f"{name}: ")
    assert hint in str(caught.value)
    assert "secret@" not in str(caught.value)


def test_a_password_in_the_address_of_the_models_and_a_key_for_it_are_refused_together(load):
    address = "https://ada:sesame@models.example.org/v1"
    assert load(OPENAI_BASE_URL=address).openai_base_url == address
    with pytest.raises(SettingsError, match="OPENAI_API_KEY is set too") as caught:
        load(OPENAI_BASE_URL=address, OPENAI_API_KEY="sk-x")
    assert "sesame" not in str(caught.value)


def test_a_way_in_that_lets_nobody_in_is_refused(load):
    provider = {"ANAPHORA_OIDC_ISSUER": "https://login.example.org/application/o/anaphora/"}
    with pytest.raises(SettingsError, match="ANAPHORA_OIDC_CLIENT_ID: is missing"):
        load(**provider)
    with pytest.raises(SettingsError, match="ANAPHORA_PASSWORD_SIGN_IN: nobody could log in"):
        load(ANAPHORA_PASSWORD_SIGN_IN="off")
    secret = "sesame, open"
    told = load(**provider, ANAPHORA_OIDC_CLIENT_ID="anaphora", ANAPHORA_OIDC_CLIENT_SECRET=secret)
    assert told.oidc_issuer == provider["ANAPHORA_OIDC_ISSUER"]
    assert told.oidc_client_secret == secret
    assert secret not in repr(told)
    named = {"ANAPHORA_OIDC_ADMIN_GROUPS": "ops, root", "ANAPHORA_OIDC_ALLOWED_DOMAINS": "Example.org, *"}
    known = load(**provider, **named, ANAPHORA_OIDC_CLIENT_ID="anaphora")
    assert known.oidc_admin_groups == ("ops", "root")
    assert known.oidc_allowed_domains == ("example.org", "*")


def test_several_processes_are_refused_without_what_they_share(load):
    database, broker = "postgresql+psycopg://somebody@db/anaphora", "redis://broker"
    given = {"DATABASE_URL": database, "REDIS_URL": broker}
    assert load(ANAPHORA_PROCESSES="4", **given).processes == 4
    for missing in ({"DATABASE_URL"}, {"REDIS_URL"}, {"DATABASE_URL", "REDIS_URL"}):
        with pytest.raises(SettingsError, match="ANAPHORA_PROCESSES") as caught:
            load(ANAPHORA_PROCESSES="2", **{name: url for name, url in given.items() if name not in missing})
        assert all((name in str(caught.value)) == (name in missing) for name in given)
    assert load(ANAPHORA_PROCESSES="1").processes == 1


def test_model_settings_take_every_documented_form(load):
    for text in ("embedded", "embedded:small", "embedded:/models/my model.gguf", "openai:gpt-5", "anthropic:x", "none"):
        assert load(ANAPHORA_MAIN_MODEL=text).main_model == text
    for text in ("embedded", "embedded:all-minilm-l6-v2", "openai:text-embedding-3-small", "none"):
        assert load(ANAPHORA_EMBEDDING_MODEL=text).embedding_model == text


def test_the_secret_key_is_made_once_and_readable_by_its_owner_alone(load, tmp_path):
    first, second = load().secret_key, load().secret_key
    assert first == second
    assert len(first) == 64
    assert stat.S_IMODE((tmp_path / "data" / "secret_key").stat().st_mode) == 0o600
    assert [path.name for path in (tmp_path / "data").iterdir()] == ["secret_key"]


def test_processes_that_start_at_once_agree_on_one_secret_key(tmp_path):
    script = "from settings import load_settings; print(load_settings(env_file='none').secret_key)"
    environ = os.environ | {"ANAPHORA_DATA_DIR": str(tmp_path / "data"), "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", script]
    running = [subprocess.Popen(command, env=environ, cwd=tmp_path, stdout=subprocess.PIPE) for _ in range(4)]
    (key,) = {process.communicate(timeout=60)[0].strip() for process in running}
    assert len(key) == 64


def test_a_data_folder_that_is_a_file_is_refused_by_name(load, tmp_path):
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(SettingsError, match="ANAPHORA_DATA_DIR"):
        load(ANAPHORA_DATA_DIR=str(tmp_path / "file"))
    with pytest.raises(SettingsError, match="ANAPHORA_DATA_DIR"):
        load(ANAPHORA_DATA_DIR=str(tmp_path / "file" / "below"))


def test_secrets_do_not_show_in_the_printed_settings(load):
    settings = load(OPENAI_API_KEY="sk-open-sesame", ANTHROPIC_API_KEY="sk-other", ANAPHORA_SECRET_KEY="k" * 32)
    assert not [secret for secret in ("sk-open", "sk-other", "kkk") if secret in repr(settings)]


def test_models_are_kept_in_the_users_cache_folder(load, tmp_path):
    assert load(XDG_CACHE_HOME=str(tmp_path)).model_dir == tmp_path / "anaphora" / "models"
    assert load(XDG_CACHE_HOME="relative").model_dir == Path.home() / ".cache" / "anaphora" / "models"
    assert load(ANAPHORA_MODEL_DIR=str(tmp_path / "m")).model_dir == tmp_path / "m"


def test_every_row_of_the_table_fills_one_field_and_explains_itself():
    fields = [row.field for row in SETTINGS_TABLE]
    assert sorted(fields) == sorted(Settings.model_fields)
    assert all(row.meaning.endswith(".") for row in SETTINGS_TABLE)


@pytest.mark.live
@pytest.mark.parametrize("role", ["MAIN", "CHEAP", "EMBEDDING"])
def test_a_model_that_is_not_in_the_catalogue_ends_the_start_with_a_sentence(role: str, tmp_path: Path) -> None:
    environ = {**os.environ, f"ANAPHORA_{role}_MODEL": "embedded:nonsense", "ANAPHORA_DATA_DIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "server.py", "--port", "1"], cwd=ROOT, env=environ, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert done.stderr.startswith(f"anaphora: ANAPHORA_{role}_MODEL: 'nonsense' is not in the catalogue")
    assert "Traceback" not in done.stderr
