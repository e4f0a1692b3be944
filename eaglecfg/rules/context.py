"""The read-only view that a rule is given."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from eaglecfg.checkpoint.config import ModelConfig
from eaglecfg.checkpoint.facts import CheckpointFacts
from eaglecfg.checkpoint.load import read_checkpoint, seen_from
from eaglecfg.engines.arguments import Argument, arguments
from eaglecfg.engines.blocks import loaded_in_blocks
from eaglecfg.engines.boundaries import Boundaries, boundaries_of
from eaglecfg.engines.facts import EngineFacts
from eaglecfg.engines.resolve import Resolution, resolve
from eaglecfg.engines.table import facts_of
from eaglecfg.errors import ValueFromLaunch
from eaglecfg.record import record, replace
from eaglecfg.schema.deployment import Deployment, Draft, Target
from eaglecfg.schema.loaded import LoadedConfig, LoadedDeployment, LoadedStudy
from eaglecfg.schema.training import TrainingRecord, read_training
from eaglecfg.source.document import Document
from eaglecfg.source.span import KeyPath

if TYPE_CHECKING:
    from eaglecfg.checkpoint.digest import WeightDigest
    from eaglecfg.checkpoint.hubid import HubAccess
    from eaglecfg.checkpoint.values import DraftValues
    from eaglecfg.engines.ask import EngineSays
    from eaglecfg.engines.settings_file import SettingsFile
    from eaglecfg.rules.live.running import Running
    from eaglecfg.rules.suppression import Unused


@record
class Context:
    """Everything a rule may look at. Fields are None where there is nothing, or where it could not be read.

    For rules of scope ``file`` only ``config`` is set; for a study file it holds that file's own text and
    problems, ``study`` is the study and ``study_config`` the config file that it names. ``arguments`` are the
    server arguments that the deployment gives, under the engine's names; ``engine_says`` is what the
    installed engine makes of them, ``running`` what a running server says, and ``values`` what the values of
    the draft's weights are like, where somebody asked for it. The configs of ``target`` and ``draft`` are as
    the engine sees them, with ``json_model_override_args``; ``draft_file`` is the draft's as its file has it.
    ``deployment`` is as the file has it, ``whole`` the same with every flag in its own block: ``model``,
    ``where`` and ``refused`` go by that one, so that no rule misses a flag that stands under ``server``.
    It also has the variables that the engine copies to another name: ``copied`` is new name -> old name;
    and the settings of the YAML file that the engine is started with, which ``settings_file`` is.
    """

    config: LoadedConfig
    deployment: LoadedDeployment | None = None
    whole: LoadedDeployment | None = None
    target: CheckpointFacts | None = None
    draft: CheckpointFacts | None = None
    engine: EngineFacts | None = None
    arguments: dict[str, Argument] | None = None
    resolution: Resolution | None = None
    boundaries: Boundaries | None = None
    training: TrainingRecord | None = None
    training_problem: str = ""
    target_digest: WeightDigest | None = None
    study: LoadedStudy | None = None
    study_config: LoadedConfig | None = None
    engine_says: EngineSays | None = None
    unused: tuple[Unused, ...] = ()
    running: Running | None = None
    values: DraftValues | None = None
    draft_file: ModelConfig | None = None
    copied: Mapping[str, str] = field(default_factory=dict)
    settings_file: SettingsFile | None = None

    @property
    def model(self) -> Deployment:
        """The typed deployment, every flag in its own block; only for rules of scope ``deployment``."""
        assert self.whole is not None
        return self.whole.model

    def where(self, *path: str | int) -> KeyPath:
        """The document path of a path inside the deployment, or of its nearest parent in the file."""
        assert self.whole is not None
        return self.whole.document_path(path)

    def refused(self, *path: str | int) -> bool:
        """Whether the schema refused the value at ``path``: its absence in ``model`` means nothing then."""
        assert self.whole is not None
        return any(path[: len(given)] == given for given in self.whole.refused)

    def argument(self, name: str) -> Any:
        """The value that the deployment gives for a server flag, or None."""
        found = (self.arguments or {}).get(name)
        return None if found is None else found.value

    def argument_path(self, name: str) -> KeyPath:
        """The document path of the setting behind a server flag, or of the deployment without it."""
        found = (self.arguments or {}).get(name)
        return self.where(*found.path) if found is not None else self.where()

    def variable(self, name: str) -> str | None:
        """The value of a variable of the ``env`` block, None where it is not there.

        Raises ValueFromLaunch where it is handed on from whoever launches; the runner then reports the rule
        as not checked.
        """
        text = self.model.env.get(name)
        if text == f"${{{name}}}":
            raise ValueFromLaunch(name)
        return text

    def load_format(self, side: Literal["target", "draft"]) -> Any:
        """How that checkpoint's weights are loaded, None by default; the draft's goes by the target's."""
        common = self.argument("load_format")
        return self.argument("speculative_draft_load_format") or common if side == "draft" else common

    @property
    def speculates(self) -> bool:
        """Whether the deployment launches a draft of its own."""
        return self.model.draft is not None and self.model.speculative != "off"

    @property
    def only_captures(self) -> bool:
        """Whether the algorithm only names what the engine captures, and nothing is drafted."""
        if self.resolution is None or self.model.draft is not None:
            return False
        setting = self.resolution.get("speculative_algorithm")
        return setting.origin == "rewritten" and setting.runs is None

    @property
    def trained(self) -> tuple[int, ...] | None:
        """Trained boundaries as declared, else as recorded. A rule of its own compares the two."""
        declared = self.model.capture.trained_boundaries
        if declared is not None:
            return tuple(declared)
        return self.training.boundaries if self.training is not None else None


@dataclass(slots=True)
class Checkpoints:
    """Checkpoints read in one run; deployments that share one read it once, whatever file they stand in.

    ``hub`` says where hub ids are read from; without it they are not read.
    """

    deep: bool = False
    hub: Callable[[], HubAccess] | None = None
    known: dict[tuple[str | None, ...], CheckpointFacts] = field(default_factory=dict)
    digests: dict[str, WeightDigest] = field(default_factory=dict)

    def get(
        self, document: Document, model: Target | Draft, role: Literal["target", "draft"]
    ) -> CheckpointFacts:
        """The facts of the checkpoint of ``model``, which ``document`` names."""
        spelled, revision = model.checkpoint, model.revision
        path = os.path.join(document.folder, spelled)  # noqa: PTH118
        with suppress(ValueError):  # a name that no file can have; reading it says so
            path = os.path.realpath(path)
        key = (path, seen_from(document.name, spelled), revision, role)
        if key not in self.known:
            self.known[key] = read_checkpoint(
                Path(document.folder),
                spelled,
                role=role,
                deep=self.deep,
                beside=document.name,
                revision=revision,
                hub=self.hub,
            )
        return self.known[key]

    def digest(self, checkpoint: CheckpointFacts) -> WeightDigest | None:
        """The digest of the weights of ``checkpoint``, worked out once; None unless all files are opened."""
        if not self.deep:
            return None
        from eaglecfg.checkpoint.digest import weight_digest  # whole files are read for it

        if checkpoint.folder not in self.digests:
            self.digests[checkpoint.folder] = weight_digest(checkpoint)
        return self.digests[checkpoint.folder]

    @property
    def read(self) -> tuple[CheckpointFacts, ...]:
        """All that were read."""
        return tuple(self.known.values())


def deployment_context(
    config: LoadedConfig, deployment: LoadedDeployment, checkpoints: Checkpoints
) -> Context:
    """Read what ``deployment`` names and put it together. Missing or broken files raise nothing."""
    engine = facts_of(config.engine)
    given_there, settings_file = _with_file(config, deployment, engine)
    whole = loaded_in_blocks(given_there, engine)
    copied: Mapping[str, str] = {}
    if whole.model.env:
        from eaglecfg.engines.copied import with_copies  # few files set a variable

        whole, copied = with_copies(whole, engine)
    source, model = config.document, whole.model
    target = checkpoints.get(source, model.target, "target")
    draft = checkpoints.get(source, model.draft, "draft") if model.draft is not None else None
    given = dict(arguments(given_there.model, engine))
    record = draft.training if draft is not None else None
    training, problem = read_training(record) if record is not None else (None, "")
    resolution = boundaries = None
    if engine is not None:
        configs = target.config, draft.config if draft is not None else None
        env = {name: text for name, text in model.env.items() if text != f"${{{name}}}"}
        gpu = model.hardware.gpu if model.hardware is not None else None
        resolution = resolve(engine, given, *configs, env=env, gpu=gpu)
        boundaries = boundaries_of(engine, *configs, resolution)
    stored = draft.config if draft is not None else None
    if resolution is not None:
        target = _as_seen(target, resolution)
        draft = None if draft is None else _as_seen(draft, resolution)
    return Context(
        config=config,
        deployment=deployment,
        whole=whole,
        target=target,
        draft=draft,
        engine=engine,
        arguments=given,
        resolution=resolution,
        boundaries=boundaries,
        training=training,
        training_problem=problem,
        target_digest=checkpoints.digest(target) if training is not None and training.target_sha256 else None,
        draft_file=stored,
        copied=copied,
        settings_file=settings_file,
    )


def _with_file(
    config: LoadedConfig, deployment: LoadedDeployment, engine: EngineFacts | None
) -> tuple[LoadedDeployment, SettingsFile | None]:
    """``deployment`` with the settings of the file that it hands to the engine, if it does."""
    server = deployment.model.server
    if engine is None or not any(engine.flags.canonical(name) == "config" for name in server):
        return deployment, None
    from eaglecfg.engines.settings_file import with_settings_file

    return with_settings_file(deployment, config.document.folder, engine)


def _as_seen(checkpoint: CheckpointFacts, resolution: Resolution) -> CheckpointFacts:
    """``checkpoint`` with the config that the engine sees, overrides included."""
    config = None if checkpoint.config is None else resolution.overridden(checkpoint.config)
    return checkpoint if config is checkpoint.config else replace(checkpoint, config=config)


def engine_label(context: Context) -> str:
    """``sglang 0.5.14``."""
    assert context.engine is not None
    return f"{context.engine.name} {context.engine.version}"
