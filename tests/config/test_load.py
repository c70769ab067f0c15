from __future__ import annotations

import os
from pathlib import Path

import pytest

from splade.config import Config, config_from_dict, config_to_yaml, load_config, vary
from splade.errors import ConfigError

# Nine lists, each of nine times the one before.
BOMB = "b0: &b0 [x]\n" + "\n".join(f"b{n}: &b{n} [{', '.join([f'*b{n - 1}'] * 9)}]" for n in range(1, 10))


def sentence(path: Path | None = None, *overrides: str) -> str:
    with pytest.raises(ConfigError) as raised:
        load_config(path, overrides)
    message = str(raised.value)
    assert "\n" not in message
    return message


def write(folder: Path, content: str) -> Path:
    path = folder / "run.yaml"
    path.write_text(content, encoding="utf-8")
    return path


def test_without_a_file_the_defaults_hold() -> None:
    assert load_config() == Config()


def test_a_file_and_overrides_are_merged(tmp_path: Path) -> None:
    path = write(tmp_path, "seed: 7\ntraining:\n  epochs: 5\n  loss_weights: {sparsity: 2}\ndata:\n")
    config = load_config(path, ["training.epochs=3", "training.loss_weights.separation=0", "model.support=full"])
    assert (config.seed, config.training.epochs) == (7, 3)
    assert (config.training.loss_weights.sparsity, config.training.loss_weights.separation) == (2.0, 0.0)
    assert config.model.support == ["full"]
    assert config.data == Config().data  # an empty section changes nothing


def test_an_empty_file_is_the_defaults(tmp_path: Path) -> None:
    assert load_config(write(tmp_path, "# nothing yet\n")) == Config()


def test_the_yaml_written_reads_back_the_same(tmp_path: Path) -> None:
    config = load_config(None, ["training.learning_rate=3e-5", "data.labels=[nein, ja]", "model.support=full"])
    assert load_config(write(tmp_path, config_to_yaml(config))) == config


@pytest.mark.parametrize("name", ["été", "a\x85b", "a\u2028b", "a\nb ", "# a", "'\"", "~", "3", "🙂"])
def test_any_name_reads_back_the_same(tmp_path: Path, name: str) -> None:
    config = vary(Config(), {"experiment_name": name}, "here")
    assert load_config(write(tmp_path, config_to_yaml(config))) == config


def test_yaml_numbers_with_an_exponent_are_numbers(tmp_path: Path) -> None:
    assert load_config(write(tmp_path, "training: {learning_rate: 3e-4}")).training.learning_rate == 3e-4


def test_overrides_leave_the_callers_mapping_alone() -> None:
    values: dict[str, object] = {"training": {"pooling": "max"}}
    assert config_from_dict(values, "here").model.pooling == "max"
    assert values == {"training": {"pooling": "max"}}


def test_pooling_is_read_under_training_too(tmp_path: Path) -> None:
    assert load_config(write(tmp_path, "training: {pooling: max}")).model.pooling == "max"


def test_pooling_given_twice_must_agree(tmp_path: Path) -> None:
    path = write(tmp_path, "model: {pooling: max}\ntraining: {pooling: attention}")
    assert sentence(path) == (
        f"{path}: training.pooling is 'attention' and model.pooling is 'max', but they are one setting; "
        "keep model.pooling."
    )


def test_an_unknown_key_names_file_choices_and_nearest(tmp_path: Path) -> None:
    path = write(tmp_path, "training:\n  epoch: 3")
    message = sentence(path)
    assert message.startswith(f"{path}: unknown key 'training.epoch'; the keys of 'training' are: recipe, epochs, ")
    assert message.endswith("Did you mean 'epochs'?")


def test_an_unknown_section_lists_the_sections(tmp_path: Path) -> None:
    path = write(tmp_path, "trainin: {epochs: 3}")
    assert sentence(path) == (
        f"{path}: unknown key 'trainin'; the keys at the top are: experiment_name, task, output_dir, seed, data, "
        "model, training, evaluation, study, surgery. Did you mean 'training'?"
    )


def test_an_unknown_key_two_levels_down() -> None:
    assert "unknown key 'training.loss_weights.seperation'" in sentence(None, "training.loss_weights.seperation=0")


@pytest.mark.parametrize(
    ("override", "expected"),
    [
        ("training.epochs=0", "--set: training.epochs must be greater than 0, but is 0."),
        ("training.epochs='3'", "--set: training.epochs must be a whole number, but is '3'."),
        ("training.epochs=2.0", "--set: training.epochs must be a whole number, but is 2.0."),
        ("training.epochs=true", "--set: training.epochs must be a whole number, but is true."),
        ("training.learning_rate=fast", "--set: training.learning_rate must be a number, but is 'fast'."),
        ("training.learning_rate=true", "--set: training.learning_rate must be a number, but is true."),
        ("training.learning_rate=.nan", "--set: training.learning_rate must be a finite number, but is nan."),
        ("training.warmup_fraction=1", "--set: training.warmup_fraction must be less than 1, but is 1."),
        ("training.sparsity_target=0", "--set: training.sparsity_target must be greater than 0, but is 0."),
        ("training.label_smoothing=-1", "--set: training.label_smoothing must be at least 0, but is -1."),
        ("evaluation.dense_baseline='yes'", "--set: evaluation.dense_baseline must be true or false, but is 'yes'."),
        (
            "evaluation.completeness_shares=[0.1, 2]",
            "--set: evaluation.completeness_shares[1] must be at most 1, but is 2.",
        ),
        ("evaluation.completeness_shares=[]", "--set: evaluation.completeness_shares must not be empty, but is []."),
        ("data.train_samples=0", "must be -1 (all rows) or a whole number above 0, but is 0."),
        ("data.labels=good", "--set: data.labels must be a list, but is 'good'."),
        ("data.labels=[same, same]", "--set: 'data' needs two or more different names in 'labels'."),
        ("data.dataset_name=null", "--set: 'data' needs a 'dataset_name' or a 'train_file', and has neither."),
        ("data.test_file=a.csv", "has a 'validation_file' or 'test_file' but no 'train_file' to go with it; name one"),
        ("study.seeds=[1, 1]", "--set: study.seeds must not name a number twice, but is [1, 1]."),
        ("study.seeds=[]", "--set: study.seeds must not be empty, but is []."),
        ("study.seeds=3", "--set: study.seeds must be a list, but is 3."),
        ("study.grid={model.support: full}", "--set: study.grid.model.support must be a list, but is 'full'."),
        ("study.variations=[full]", "--set: study.variations must be a section of keys and values, but is ['full']."),
        ("study.variatons={}", "unknown key 'study.variatons'; the keys of 'study' are: seeds, variations, grid, "),
        ("model.name=''", "--set: model.name must not be empty, but is ''."),
        ("model.name=3", "--set: model.name must be text, but is 3."),
        ("model.sense_tokens=[bank]", "'model' has 'sense_tokens', but 'senses' is 1, so that no word has several;"),
        ("training.target_accuracy=1.0", "--set: training.target_accuracy must be less than 1, but is 1.0."),
        (
            "model.gate=drelo",
            "--set: model.gate must be one of jumprelu, drelu, drelu_log1p, but is 'drelo'. Did you mean 'drelu'?",
        ),
        (
            "training.recipe=cajtt",
            "--set: training.recipe must be one of cajt, lexical_sae, cis, baseline, but is 'cajtt'. "
            "Did you mean 'cajt'?",
        ),
        (
            "model.support=full+dictionry",
            "model.support[1] must be one of dictionary, full, neighbourhood, but is 'dictionry'. "
            "Did you mean 'dictionary'?",
        ),
        (
            "evaluation.measures=identity,one_word",
            "evaluation.measures[1] must be one of agreement, ",
        ),
        ("model.support=[full, full]", "must name one or more different supports, but is ['full', 'full']."),
        ("seed=", "--set seed= was given no value; write one after '=', or null for none."),
        ("data=3", "--set: data must be a section of keys and values, but is 3."),
        ("epochs", "--set was given 'epochs', but section.key=value was expected, such as training.epochs=3."),
        ("training..epochs=3", "section.key=value was expected"),
        ("seed=[", "--set seed has the value '[', which is not valid YAML; quote it."),
    ],
)
def test_wrong_values_end_in_one_sentence(override: str, expected: str) -> None:
    assert expected in sentence(None, override)


@pytest.mark.parametrize(
    "key",
    [
        "data.train_file",
        "data.test_file",
        "data.root",
        "output_dir",
        "model.name",
        "evaluation.lexicon",
        "data.encoding",
    ],
)
def test_nothing_is_no_value(tmp_path: Path, key: str) -> None:
    for nothing in ("", "  "):
        assert sentence(None, f"{key}={nothing}") == (
            f"--set {key}= was given no value; write one after '=', or null for none."
        )
    for nothing in ("''", '"  "'):
        assert sentence(None, f"{key}={nothing}").startswith(f"--set: {key} must not be empty, but is")
        section, _, name = key.rpartition(".")
        text = f"{section}: {{{name}: {nothing}}}" if section else f"{name}: {nothing}"
        assert f"{key} must not be empty, but is" in sentence(write(tmp_path, text))


def test_null_is_a_value_and_a_key_with_nothing_after_it_is_null(tmp_path: Path) -> None:
    path = write(tmp_path, "data:\n  train_file:\n  root: ~\n")
    assert load_config(path).data == Config().data
    for null in ("null", "~", "Null", " null "):
        assert load_config(None, ["data.train_file=a.csv", f"data.train_file={null}"]).data.train_file is None


@pytest.mark.parametrize("value", ["# mine.csv", "#"])
def test_what_yaml_drops_is_not_nothing(value: str) -> None:
    assert sentence(None, f"data.train_file={value}") == (
        f"--set data.train_file has the value {value!r}, which YAML takes for nothing; quote it."
    )


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("a: " + "[" * 10_000 + "]" * 10_000, "it is nested too deep, or holds itself"),
        ("a: &a [*a]", "it is nested too deep, or holds itself"),
        (BOMB, "it writes out to more than 100,000 values"),
        ("seed: 1\nseed: 2", "line 2: the key 'seed' twice"),
        ("data: {root: a}\nmodel: {}\ndata: {}", "line 3: the key 'data' twice"),
        ("seed: !!int ''", "a value that cannot be read"),
        ("seed: !!bool maybe", "a value that cannot be read"),
        ("seed: !!timestamp x", "a value that cannot be read"),
        ("seed: 2024-13-45", "a value that cannot be read: month must be in 1..12"),
        (f"seed: {'9' * 5_000}", "a value that cannot be read"),
        ("seed: !!python/object:os.system x", "line 1: could not determine a constructor"),
        ("seed: 1\n\tdata: x", "line 2: "),
        ("? [a]\n: b", "line 1: found unhashable key"),
        ("<<: 3", "line 1: expected a mapping"),
    ],
)
def test_yaml_beyond_all_bounds(tmp_path: Path, text: str, reason: str) -> None:
    path = write(tmp_path, text)
    assert f"The settings file {path} is not valid YAML ({reason}" in sentence(path)


def test_merged_sections(tmp_path: Path) -> None:
    text = "training: &t {epochs: 5}\nstudy:\n  variations:\n    a: {<<: *t, epochs: 7}\n    b: {<<: *t}\n"
    assert load_config(write(tmp_path, text)).study.variations == {"a": {"epochs": 7}, "b": {"epochs": 5}}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            'data: {train_file: "a\\0b"}',
            "must be text that UTF-8 can write, without NUL characters, but is 'a\\x00b'.",
        ),
        (
            'data: {train_file: "a\\ud800b"}',
            "train_file must be text that UTF-8 can write, without NUL characters",
        ),
        ('data: {"a\\ud800b": 1}', "data must be text that UTF-8 can write, but is 'a\\ud800b'."),
        ('"a\\nb": 1', "unknown key 'a\\nb'"),
        (f"seed: 0x{'f' * 3_000}", "seed must be less than 9223372036854775808, but is "),
        ("data: {labels: [[[[[[[[[[1]]]]]]]]]]}", "data.labels[0] must be text, but is [[[[["),
        (
            "data: {encoding: klingon}",
            "data.encoding must be the name of a text encoding, such as utf-8, cp1252 or utf-16",
        ),
        ("data: {encoding: base64}", "data.encoding must be the name of a text encoding"),
        ('data: {delimiter: "||"}', "data.delimiter must be one character or one of tab, "),
        ('data: {delimiter: "\\n"}', "data.delimiter must be one character or one of tab, "),
    ],
)
def test_values_beyond_all_bounds(tmp_path: Path, text: str, expected: str) -> None:
    said = sentence(write(tmp_path, text))
    assert expected in said and len(said) < 700
    said.encode()


def test_delimiters_have_names(tmp_path: Path) -> None:
    for written in ("tab", r"\t", '"\t"'):
        assert load_config(None, [f"data.delimiter={written}"]).data.delimiter == "\t"
    assert load_config(None, ["data.delimiter=;"]).data.delimiter == ";"
    config = load_config(None, ["data.delimiter=tab", "data.encoding=cp1252"])
    assert load_config(write(tmp_path, config_to_yaml(config))) == config


def test_a_settings_file_that_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("splade.utils.reading.PATIENCE", 0.1)
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    for path in (tmp_path / "pipe", tmp_path / "loop", Path("/dev/zero"), tmp_path / ("x" * 300)):
        assert f"The settings file {path} cannot be read (" in sentence(path)


def test_an_override_cannot_reach_inside_a_single_value(tmp_path: Path) -> None:
    path = write(tmp_path, "training: {epochs: 3}")
    assert "asks for a key inside 'training.epochs', which is a single value" in sentence(path, "training.epochs.x=1")


def test_the_file_is_named_for_its_own_faults_and_set_for_others(tmp_path: Path) -> None:
    path = write(tmp_path, "training: {epochs: 0}")
    assert sentence(path, "seed=3").startswith(f"{path}: training.epochs")
    assert sentence(path, "training.epochs=-1").startswith("--set: training.epochs")
    # Neither is wrong alone: the file gives up the name for a file, the override takes the file away.
    both = write(tmp_path, "data: {dataset_name: null, train_file: a.csv}")
    assert sentence(both, "data.train_file=null").startswith(f"{both} with --set: 'data' needs")


def test_several_faults_show_the_first_and_count_the_rest(tmp_path: Path) -> None:
    assert sentence(write(tmp_path, "seed: -1\ntraining: {epochs: 0, batch_size: 0}")).endswith(" (and 2 more)")


def test_a_missing_file(tmp_path: Path) -> None:
    path = tmp_path / "none.yaml"
    assert sentence(path) == f"There is no settings file {path}; check the path given to --config."


def test_a_folder_is_not_a_file(tmp_path: Path) -> None:
    assert "cannot be read" in sentence(tmp_path)


def test_yaml_syntax_names_the_line(tmp_path: Path) -> None:
    assert "is not valid YAML (line 2: " in sentence(write(tmp_path, "seed: 1\ntraining: }\nmodel:\n"))


def test_a_list_is_not_settings(tmp_path: Path) -> None:
    assert "sections of keys and values were expected" in sentence(write(tmp_path, "- seed\n"))


def test_binary_content(tmp_path: Path) -> None:
    path = tmp_path / "run.yaml"
    path.write_bytes(b"\xff\xfe\x00seed")
    assert sentence(path) == f"The settings file {path} is not UTF-8 text; save it as UTF-8 YAML."
    path.write_bytes(b"seed: \x00")
    assert "is not valid YAML" in sentence(path)


def test_keys_that_are_not_text(tmp_path: Path) -> None:
    assert "unknown key 'training.3'" in sentence(write(tmp_path, "training: {3: 4}"))


def test_config_from_dict_names_its_origin() -> None:
    with pytest.raises(ConfigError, match=r"^model/config.yaml: seed must be at least 0, but is -1\.$"):
        config_from_dict({"seed": -1}, "model/config.yaml")


class TestVary:
    def test_some_values_are_replaced_and_the_config_stays(self) -> None:
        config = Config()
        varied = vary(config, {"training.loss_weights.separation": 0, "model.support": "full", "seed": 3}, "here")
        assert (varied.training.loss_weights.separation, varied.model.support, varied.seed) == (0.0, ["full"], 3)
        assert varied.training.loss_weights.sparsity == config.training.loss_weights.sparsity
        assert config == Config()

    def test_nothing_to_replace_is_the_same(self) -> None:
        assert vary(Config(), {}, "here") == Config()

    @pytest.mark.parametrize(
        ("key", "value", "expected"),
        [
            ("training.epoch", 3, "here: unknown key 'training.epoch'"),
            ("training.epochs", 0, "here: training.epochs must be greater than 0, but is 0."),
            ("seed.x", 0, "here seed.x asks for a key inside 'seed', which is a single value"),
        ],
    )
    def test_what_is_wrong_names_its_origin(self, key: str, value: object, expected: str) -> None:
        with pytest.raises(ConfigError) as raised:
            vary(Config(), {key: value}, "here")
        assert str(raised.value).startswith(expected)


def test_a_base_fills_in_what_the_file_does_not_say(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("training: {epochs: 5}\n")
    base = {"task": "tagging", "training": {"epochs": 9, "batch_size": 7}}
    config = load_config(path, [], base)
    assert (config.task, config.training.epochs, config.training.batch_size) == ("tagging", 5, 32)
    assert load_config(path, ["task=classification"], base).task == "classification"
    assert load_config(None, [], base).training.batch_size == 7


def test_the_home_folder_is_known_without_a_shell(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/somebody")
    config = load_config(None, ["data.train_file=~/mine.csv", "output_dir=~/out"])
    assert (config.data.train_file, config.output_dir) == ("/home/somebody/mine.csv", "/home/somebody/out")
