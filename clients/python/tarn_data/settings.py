"""Where the server is and who asks: arguments, then the environment, then the file of the tarn command or lakectl's."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml  # lakefs depends on it

from tarn_data.errors import NotConfigured

DEFAULT_ENDPOINT = "http://127.0.0.1:8000"
API_SUFFIX = "/api/v1"

# Per setting: its variables in order, then section and key of lakectl's file.
SOURCES: dict[str, tuple[tuple[str, ...], tuple[str, str]]] = {
    "endpoint": (("TARN_ENDPOINT", "LAKECTL_SERVER_ENDPOINT_URL", "LAKEFS_ENDPOINT", "LAKEFS_HOST"), ("server", "endpoint_url")),
    "access_key": (
        ("TARN_ACCESS_KEY", "LAKECTL_CREDENTIALS_ACCESS_KEY_ID", "LAKEFS_ACCESS_KEY_ID", "LAKEFS_USERNAME"),
        ("credentials", "access_key_id"),
    ),
    "secret_key": (
        ("TARN_SECRET_KEY", "LAKECTL_CREDENTIALS_SECRET_ACCESS_KEY", "LAKEFS_SECRET_ACCESS_KEY", "LAKEFS_PASSWORD"),
        ("credentials", "secret_access_key"),
    ),
    "token": (("TARN_TOKEN",), ("", "")),
    "repo": (("TARN_REPO",), ("", "")),
    "branch": (("TARN_BRANCH",), ("", "")),
}


@dataclass(frozen=True)
class Settings:
    endpoint: str
    access_key: str = ""
    secret_key: str = ""
    token: str = ""
    repo: str = ""
    branch: str = ""

    def __repr__(self) -> str:
        """Without the secrets: notebooks print everything."""
        return f"Settings(endpoint={self.endpoint!r}, access_key={self.access_key!r}, repo={self.repo!r})"


def load_settings(environment: Mapping[str, str] | None = None, **given: str | None) -> Settings:
    """`given` are settings by name; an empty one counts as not given."""
    variables = os.environ if environment is None else environment
    unknown = set(given) - set(SOURCES)
    if unknown:
        raise NotConfigured(f"setting {sorted(unknown)[0]!r}: not one of {', '.join(SOURCES)}")
    file = _read_file(variables)
    values = {name: given.get(name) or _resolve(name, variables, file) for name in SOURCES}
    values["endpoint"] = _tidy_endpoint(values["endpoint"] or DEFAULT_ENDPOINT)
    return Settings(**values)


def _resolve(name: str, variables: Mapping[str, str], file: Mapping[str, Any]) -> str:
    names, (section, key) = SOURCES[name]
    for variable in names:
        if variables.get(variable):
            return variables[variable]
    own = file.get(name)
    if own:
        return str(own)
    inner = file.get(section)
    return str(inner.get(key) or "") if isinstance(inner, dict) else ""


def _read_file(variables: Mapping[str, str]) -> dict[str, Any]:
    """The first file that there is; a file that TARN_CONFIG names is the only one that is looked at."""
    home = Path(variables.get("HOME") or Path.home())
    if variables.get("TARN_CONFIG"):
        places = [Path(variables["TARN_CONFIG"])]
    else:
        base = Path(variables["XDG_CONFIG_HOME"]) if variables.get("XDG_CONFIG_HOME") else home / ".config"
        lakectl = Path(variables["LAKECTL_CONFIG_FILE"]) if variables.get("LAKECTL_CONFIG_FILE") else None
        places = [base / "tarn" / "config.yaml", lakectl or home / ".lakectl.yaml"]
    for place in places:
        try:
            found = yaml.safe_load(place.read_text(encoding="utf-8"))
        except FileNotFoundError:
            continue
        except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
            raise NotConfigured(f"reading configuration {place}: {error}") from error
        if found is not None and not isinstance(found, dict):
            raise NotConfigured(f"reading configuration {place}: expected `key: value` lines")
        return found or {}
    return {}


def _tidy_endpoint(url: str) -> str:
    url = url.rstrip("/")
    if url.endswith(API_SUFFIX):
        url = url[: -len(API_SUFFIX)]
    return url if "://" in url else f"http://{url}"
