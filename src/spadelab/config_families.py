"""What the settings are where nothing is said, for families other than program tasks."""

from __future__ import annotations

from typing import Any, get_args

from spadelab.config_self_play import Skill

FAMILY_DEFAULTS: dict[str, dict[str, dict[str, Any]]] = {
    "interactive": {
        "model": {"base_model_path": "tiny-worlds-solver"},
        "proposer": {"model": "tiny-worlds-proposer"},
        "solver": {"max_new_tokens": 16, "rollouts": 4},
        "self_play": {
            "tasks_per_round": 24,
            "task_types": dict.fromkeys(get_args(Skill), 1.0),
            "revisit": 0.25,
            "bandit": 0.5,
            "holdout": 0.1,
        },
        "hinter": {"enabled": True},
        "credit": {"copy_discount": 0.25},
        # A lesson is as many conversations as there were gate seeds.
        "training": {"gold_replay": 80},
    }
}


def fill_family(tree: dict[str, Any]) -> dict[str, Any]:
    """The settings tree with the defaults of its family where it is silent."""
    play = tree.get("self_play")
    family = play.get("family") if isinstance(play, dict) else getattr(play, "family", None)
    filled = dict(tree)
    for section, defaults in FAMILY_DEFAULTS.get(str(family), {}).items():
        given = filled.get(section, {})
        if isinstance(given, dict):
            filled[section] = defaults | given
    return filled
