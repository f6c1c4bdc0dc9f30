"""What is checked before anything expensive starts: models, device, the run's folder."""

from __future__ import annotations

from pathlib import Path

from spadelab.config import Settings, load_settings
from spadelab.config_files import check_model_folder
from spadelab.config_sections import BUNDLED_MODELS
from spadelab.errors import UserError
from spadelab.sandbox.container import ENGINES, find_fault
from spadelab.store.registration import DATABASE, SETTINGS


def check_models(settings: Settings) -> dict[str, Path]:
    """The model folder of each role; raises UserError, naming what is missing, unless all are complete."""
    proposer = settings.solver_model if settings.shared_model else settings.proposer.model
    folders = {"solver": check_model(settings.solver_model), "proposer": check_model(proposer)}
    check_device(settings.model.device)
    return folders


def check_model(name: str) -> Path:
    """The folder of one model (the name of a bundled one, or a path), complete and readable, or UserError."""
    from spadelab.models.local import resolve_model

    folder = resolve_model(name)
    if name not in BUNDLED_MODELS:
        check_model_folder(name)
        return folder
    try:
        check_model_folder(folder)
    except UserError:
        role = BUNDLED_MODELS[name].replace("worlds", "world")
        raise UserError(
            f"{folder}: the bundled model {name} is missing from this installation; install spadelab again "
            f"or make it with spadelab warmstart --role {role} --out {folder}."
        ) from None
    return folder


def check_device(device: str) -> None:
    """Raise UserError when torch cannot use the device here."""
    import torch

    kind, _, index = device.partition(":")
    if kind == "cuda" and torch.cuda.device_count() <= int(index or 0):
        raise UserError(
            f"model.device is {device}, but torch sees {torch.cuda.device_count()} CUDA devices here; "
            'write "cpu" or install a CUDA build of torch.'
        )
    if kind == "mps" and not torch.backends.mps.is_available():
        raise UserError('model.device is mps, but torch cannot use it here; write "cpu".')


def settle_sandbox(settings: Settings) -> tuple[Settings, list[str]]:
    """Where a settings file names an engine of containers that does not answer here: the best jail that
    is here, and the sentence that says so. Files travel between machines; no jail is never the answer.
    """
    box = settings.sandbox
    if box.executor_type not in ENGINES:
        return settings, []
    fault = find_fault(box.executor_type)
    if not fault:
        return settings, []
    sentence = (
        f'sandbox.executor_type "{box.executor_type}": {fault}; the best jail of this machine is used '
        '(write "auto" to say so yourself).'
    )
    changed = box.model_copy(update={"executor_type": "auto"})
    return settings.model_copy(update={"sandbox": changed}), [sentence]


def find_run(name: str) -> Path:
    """The folder of a run given as a path or as a name under runs/; UserError when there is none."""
    for folder in (Path(name), Path("runs") / name):
        if (folder / DATABASE).is_file():
            return folder
    raise UserError(
        f"{name}: there is no run in this folder, nor in {Path('runs') / name} ({DATABASE} is missing)."
    )


def load_run_settings(folder: Path, overrides: list[str]) -> tuple[Settings, list[str]]:
    """The settings that a run was started with, `overrides` applied, its folder where it lies now.

    Raises UserError when the folder was renamed: going on would start another run beside it.
    """
    settings, notices = load_settings(folder / SETTINGS, overrides)
    if folder.name != settings.run.name:
        folder = folder.resolve()
    if folder.name != settings.run.name:
        raise UserError(f"{folder}: the run is called {settings.run.name}; give its folder that name again.")
    here = settings.run.model_copy(update={"directory": str(folder.parent)})
    return settings.model_copy(update={"run": here}), notices
