"""The files of deploy/ say only what the server really has: its metrics, paths, settings and flags."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
import yaml

from clew.app import open_clew
from clew.faces.mcp.operating import metrics_text, operating_routes
from clew.settings import Settings, load_settings

DEPLOY = Path(__file__).parent.parent / "deploy"
_METRIC = re.compile(r"\bclew_[a-z_]+")
_SUFFIX = re.compile(r"_(?:bucket|sum|count)$")


@pytest.fixture
def known_metrics(tmp_path: Path) -> set[str]:
    clew = open_clew(load_settings({"home": tmp_path, "workspace": "ws"}, {}, tmp_path))
    try:
        return set(re.findall(r"^# TYPE (\S+)", metrics_text(clew), re.MULTILINE))
    finally:
        clew.close()


def documents(*places: str) -> Iterator[Any]:
    for place in places:
        yield from yaml.safe_load_all((DEPLOY / place).read_text(encoding="utf-8"))


@pytest.mark.parametrize("place", ["prometheus/clew.rules.yml", "grafana/clew.json"])
def test_rules_and_dashboard_name_metrics_that_exist(place: str, known_metrics: set[str]) -> None:
    text = (DEPLOY / place).read_text(encoding="utf-8")
    named = {_SUFFIX.sub("", name) for name in _METRIC.findall(text)}
    assert named
    assert named <= known_metrics


def test_every_alert_has_an_expression_a_severity_and_a_summary() -> None:
    (rules,) = documents("prometheus/clew.rules.yml")
    alerts = [rule for group in rules["groups"] for rule in group["rules"]]
    assert len(alerts) >= 5
    for alert in alerts:
        assert {"alert", "expr", "labels", "annotations"} <= set(alert)
        assert alert["labels"]["severity"] in {"page", "ticket"}


def test_the_dashboard_reads_as_one() -> None:
    board = json.loads((DEPLOY / "grafana/clew.json").read_text(encoding="utf-8"))
    ids = [panel["id"] for panel in board["panels"]]
    assert len(ids) == len(set(ids)) >= 8


def test_probes_ask_paths_that_need_no_token(tmp_path: Path) -> None:
    clew = open_clew(load_settings({"home": tmp_path, "workspace": "ws"}, {}, tmp_path))
    paths = {route.path for route in operating_routes(clew)}
    clew.close()
    (deployment, *_) = documents("kubernetes/clew.yaml")
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    asked = {container[probe]["httpGet"]["path"] for probe in ("livenessProbe", "readinessProbe")}
    assert asked == {"/livez", "/readyz"} <= paths


def test_two_servers_get_each_client_by_its_address() -> None:
    """What a server asks of a client, and what the client subscribed to, stay with that server."""
    (deployment, service, *_) = documents("kubernetes/clew.yaml")
    assert deployment["spec"]["replicas"] > 1
    assert service["spec"]["sessionAffinity"] == "ClientIP"


def test_every_variable_that_is_set_is_a_setting() -> None:
    declared = [field.metadata["declared"] for field in fields(Settings) if field.metadata]
    known = {variable for variables, *_ in declared for variable in variables}
    texts = [path.read_text(encoding="utf-8") for path in DEPLOY.rglob("*.yaml")]
    texts += [path.read_text(encoding="utf-8") for path in DEPLOY.rglob("*.service")]
    named = set(re.findall(r"\bCLEW_[A-Z_]+\b", "\n".join(texts)))
    of_the_files = {"CLEW_DOMAIN", "CLEW_DB_PASSWORD"}
    assert named - of_the_files <= known
