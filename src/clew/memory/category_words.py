"""The categories every workspace has, and the words by which a block belongs to one."""

from __future__ import annotations

WORDS: dict[str, str] = {
    "architecture": """
        architecture design database schema infrastructure service microservice module component storage cache caching
        queue backend frontend server cluster scaling layer protocol postgresql sqlite redis kafka kubernetes docker
        """,
    "decisions": "decision decide decided chose choose chosen adopt agree agreed approve policy standard convention",
    "people": "person people team member owner maintainer lead manager engineer developer contact role colleague",
    "preferences": "prefer preference favourite favorite like dislike style taste habit default tone convention",
    "workflows": """
        workflow process pipeline ci cd deploy deployment release review checklist procedure step runbook automation
        schedule cron merge branch
        """,
    "bugs": "bug error crash failure failing broken fix incident outage regression exception defect traceback leak",
    "credentials": """
        credential password secret token key certificate login authentication authorization oauth vault rotation
        permission
        """,
    "integrations": """
        integration api webhook sdk plugin connector oauth client endpoint rest graphql grpc import export sync vendor
        provider
        """,
    "goals": "goal objective target milestone roadmap plan okr kpi vision deadline priority outcome",
    "constraints": """
        constraint must never always limit limitation requirement required forbidden compliance budget quota invariant
        security restriction
        """,
}
"""Whole words, compared by their stems."""

OF_KIND = {"D": "decisions", "PER": "people", "INC": "bugs"}
"""Kinds whose blocks belong to a category whatever they say."""

UNCATEGORIZED = "uncategorized"
