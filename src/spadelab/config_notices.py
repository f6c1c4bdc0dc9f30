"""Settings that are known but not built yet: each is replaced and explained in one sentence."""

from __future__ import annotations

from typing import Any

OTHER_BACKENDS = ("vllm", "sglang", "http", "openai")
OTHER_EXECUTORS = ("docker", "nsjail", "gvisor", "firejail", "podman")
OTHER_QUEUES = ("redis", "celery", "rq", "file", "ray")
BUILT_PACKAGES = ("numpy", "sympy")


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
                f'{key} "{value}" is not built yet, {meaning} is used; write "{built}" to say so yourself.'
            )
    return notices + _switch_off_judge(tree) + _drop_packages(tree)


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


def _drop_packages(tree: dict[str, Any]) -> list[str]:
    sandbox = tree.get("sandbox")
    packages = sandbox.get("allowed_packages") if isinstance(sandbox, dict) else None
    if not isinstance(packages, list) or not all(isinstance(name, str) for name in packages):
        return []
    assert isinstance(sandbox, dict)
    sandbox["allowed_packages"] = [name for name in packages if name in BUILT_PACKAGES]
    return [
        f'sandbox.allowed_packages: "{name}" is not available inside the jail yet, programs that import it '
        f"are rejected; use {' and '.join(BUILT_PACKAGES)}."
        for name in packages
        if name not in BUILT_PACKAGES
    ]
