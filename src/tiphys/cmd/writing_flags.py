"""The flags of `tiphys apiserver` about what happens to a write: admission, the audit log, encryption at rest."""

import argparse
import uuid
from dataclasses import replace
from pathlib import Path

from tiphys.api.registry import KINDS
from tiphys.apiserver.admission import configuration as admission_configuration
from tiphys.apiserver.admission.registry import AdmissionSettings, UnusablePlugins
from tiphys.apiserver.audit.log_file import LogSettings
from tiphys.apiserver.audit.settings import AuditSettings
from tiphys.apiserver.audit.webhook import BatchSettings
from tiphys.apiserver.encryption import configuration as encryption_configuration
from tiphys.apiserver.encryption.codec import EncryptionCodec, resources_of
from tiphys.apiserver.encryption.configuration import Encryption
from tiphys.client import kubeconfig
from tiphys.client.kubeconfig import BadConfig
from tiphys.cmd.api_server import ApiServerSettings
from tiphys.cmd.data_directory import Unusable
from tiphys.machinery import duration


def add(parser: argparse.ArgumentParser) -> None:
    _add_admission(parser.add_argument_group("admission"))
    _add_audit(parser.add_argument_group("audit"))
    group = parser.add_argument_group("encryption at rest")
    group.add_argument(
        "--encryption-provider-config", type=Path, metavar="F", help="how which resources are encrypted where they are kept"
    )


def _listed(value: str) -> tuple[str, ...]:
    return tuple(each.strip() for each in value.split(",") if each.strip())


def seconds(value: str) -> float:
    try:
        return duration.seconds(value)
    except ValueError as problem:
        raise argparse.ArgumentTypeError(str(problem)) from None


def _add_admission(group: argparse._ArgumentGroup) -> None:
    add_argument = group.add_argument
    for what, done in (("enable", "run beside the default ones"), ("disable", "do not run, although they would")):
        add_argument(
            f"--{what}-admission-plugins", type=_listed, default=(), metavar="NAMES", help=f"admission plugins that {done}"
        )
    add_argument("--admission-control-config-file", type=Path, metavar="F", help="configuration of admission plugins")
    for what, said in (("not-ready", "is not ready"), ("unreachable", "cannot be reached")):
        add_argument(
            f"--default-{what}-toleration-seconds",
            type=int,
            default=300,
            metavar="S",
            help=f"how long a pod stays on a node that {said} (default: 300)",
        )


def _add_audit(group: argparse._ArgumentGroup) -> None:
    add_argument = group.add_argument
    log, batches = LogSettings(""), BatchSettings()
    add_argument("--audit-policy-file", type=Path, metavar="F", help="which requests are recorded, and how much of them")
    add_argument("--audit-log-path", default="", metavar="F", help="the audit log; - is the standard output")
    add_argument(
        "--audit-log-maxage", type=int, default=log.max_days, metavar="DAYS", help="older logs go (default: %(default)s)"
    )
    add_argument(
        "--audit-log-maxbackup", type=int, default=log.max_backups, metavar="N", help="so many stay (default: %(default)s)"
    )
    add_argument(
        "--audit-log-maxsize", type=int, default=log.max_megabytes, metavar="MB", help="of one log (default: %(default)s)"
    )
    add_argument("--audit-webhook-config-file", type=Path, metavar="F", help="kubeconfig of a server that takes audit events")
    for name, default, said in (
        ("buffer-size", batches.buffer, "events that wait at most"),
        ("max-size", batches.size, "events of one batch"),
        ("throttle-qps", batches.a_second, "batches a second"),
    ):
        add_argument(
            f"--audit-webhook-batch-{name}",
            type=type(default),
            default=default,
            metavar="N",
            help=f"{said} (default: %(default)s)",
        )
    add_argument(
        "--audit-webhook-batch-max-wait", type=seconds, default=batches.seconds, metavar="D", help="for a batch (default: 30s)"
    )
    add_argument(
        "--audit-webhook-initial-backoff",
        type=seconds,
        default=batches.first_pause,
        metavar="D",
        help="before a batch is sent again (default: 10s)",
    )


def completed(settings: ApiServerSettings, given: argparse.Namespace) -> ApiServerSettings:
    """Raises Unusable."""
    settings = replace(settings, admission=_admission(given), audit=_audit(given))
    if given.encryption_provider_config is None:
        return settings
    encryption = _encryption(given.encryption_provider_config)
    codec = EncryptionCodec(encryption.rules, resources_of(KINDS))
    return replace(settings, encryption=encryption, store=replace(settings.store, codec=codec))


def _admission(given: argparse.Namespace) -> AdmissionSettings:
    tolerated = given.default_not_ready_toleration_seconds, given.default_unreachable_toleration_seconds
    try:
        found = replace(_configuration(given.admission_control_config_file), toleration_seconds=tolerated)
        return AdmissionSettings(given.enable_admission_plugins, given.disable_admission_plugins, found, given.allow_privileged)
    except (OSError, UnusablePlugins, BadConfig, admission_configuration.Unusable) as problem:
        raise Unusable(str(problem)) from None


def _configuration(file: Path | None) -> admission_configuration.Configuration:
    if file is None:
        return admission_configuration.Configuration()
    folder = file.parent
    return admission_configuration.read(
        file.read_text(),
        lambda named: (folder / named).read_text(),
        lambda named: kubeconfig.resolve(kubeconfig.read(folder / named)),
    )


def _audit(given: argparse.Namespace) -> AuditSettings:
    log = None
    if given.audit_log_path:
        log = LogSettings(given.audit_log_path, given.audit_log_maxsize, given.audit_log_maxage, given.audit_log_maxbackup)
    batches = BatchSettings(
        given.audit_webhook_batch_buffer_size,
        given.audit_webhook_batch_max_size,
        given.audit_webhook_batch_max_wait,
        given.audit_webhook_batch_throttle_qps,
        given.audit_webhook_initial_backoff,
    )
    return AuditSettings(given.audit_policy_file, log, given.audit_webhook_config_file, batches)


def _encryption(file: Path) -> Encryption:
    try:
        encryption = encryption_configuration.read(file.read_text(), lambda: str(uuid.uuid4()))
    except (OSError, encryption_configuration.Unusable) as problem:
        raise Unusable(f"error while parsing file: {file}: {problem}") from None
    encryption.refresh()
    return encryption
