"""What the flags `--audit-*` say, and the auditor and its back ends built from that."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tiphys.apiserver.audit.auditor import Auditor, Backend
from tiphys.apiserver.audit.log_file import LogFile, LogSettings
from tiphys.apiserver.audit.policy import BadPolicy, read
from tiphys.apiserver.audit.webhook import BatchSettings, Webhook
from tiphys.base.clock import Clock
from tiphys.base.log import Logger
from tiphys.base.tasks import Service
from tiphys.client import kubeconfig


@dataclass(frozen=True, slots=True)
class AuditSettings:
    """Without a policy nothing is recorded."""

    policy_file: Path | None = None
    log: LogSettings | None = None
    webhook_config: Path | None = None
    """A kubeconfig that names the server."""
    batches: BatchSettings = field(default_factory=BatchSettings)


@dataclass(frozen=True, slots=True)
class Audit:
    auditor: Auditor | None
    services: Sequence[Service] = ()
    """To run beside the server."""


NO_AUDIT = Audit(None)


def build(settings: AuditSettings, clock: Clock, log: Logger) -> Audit:
    """Raises BadPolicy, kubeconfig.BadConfig and OSError."""
    if settings.policy_file is None or (settings.log is None and settings.webhook_config is None):
        return NO_AUDIT
    try:
        policy = read(settings.policy_file.read_text())
    except BadPolicy as problem:
        raise BadPolicy(f"{problem}: from file {settings.policy_file}") from None
    backends: list[Backend] = []
    services: list[Service] = []
    if settings.log is not None:
        backends.append(LogFile(settings.log, clock))
    if settings.webhook_config is not None:
        access = kubeconfig.resolve(kubeconfig.load([settings.webhook_config]))
        webhook = Webhook(access, clock, log, settings.batches)
        backends.append(webhook)
        services.append(webhook.run)
    return Audit(Auditor(policy, backends, clock), tuple(services))
