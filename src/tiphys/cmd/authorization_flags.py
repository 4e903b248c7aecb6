"""Flags about who may do what, and the authorizers that they come to."""

import argparse
from collections.abc import Collection
from pathlib import Path

from tiphys.apiserver.authz.webhook import Settings as WebhookSettings
from tiphys.client.kubeconfig import BadConfig
from tiphys.cmd import authorization
from tiphys.cmd.authentication_flags import VERSIONS, listed
from tiphys.cmd.authorization import MODES, Step, Webhook
from tiphys.cmd.data_directory import Unusable
from tiphys.cmd.kubeconfigs import access_in
from tiphys.cmd.token_command import duration


def add(group: argparse._ArgumentGroup) -> None:
    add = group.add_argument
    add(
        "--authorization-mode",
        type=listed,
        default=("AlwaysAllow",),
        metavar="MODES",
        help=f"in order, with commas between them: {', '.join(MODES)} (default: AlwaysAllow)",
    )
    add(
        "--authorization-config",
        type=Path,
        metavar="F",
        help="AuthorizationConfiguration: the authorizers in order, in place of --authorization-mode and "
        "--authorization-webhook-*; taken again when it changes",
    )
    add("--authorization-policy-file", type=Path, metavar="F", help="policies of the mode ABAC, one JSON object a line")
    add("--authorization-webhook-config-file", type=Path, metavar="F", help="kubeconfig of who is asked in the mode Webhook")
    add("--authorization-webhook-version", choices=VERSIONS, default="v1beta1", help="(default: %(default)s)")
    add("--authorization-webhook-cache-authorized-ttl", type=duration, default=300.0, metavar="D", help="(default: 5m)")
    add("--authorization-webhook-cache-unauthorized-ttl", type=duration, default=30.0, metavar="D", help="(default: 30s)")


def settle(given: argparse.Namespace, named: Collection[str]) -> None:
    """Raises Unusable for flags that do not go together; with a file, no mode is left that a default has given."""
    if given.authorization_config is None:
        _check_modes(given)
        return
    if any(each == "authorization_mode" or each.startswith("authorization_webhook_") for each in named):
        raise Unusable(
            "--authorization-config can not be specified when --authorization-mode or --authorization-webhook-* flags "
            "are defined"
        )
    given.authorization_mode = ()


def _check_modes(given: argparse.Namespace) -> None:
    modes = given.authorization_mode
    for mode in modes:
        if mode not in MODES:
            raise Unusable(f'authorization-mode "{mode}" is not a valid mode; there are {", ".join(MODES)}')
    if not modes:
        raise Unusable("at least one authorization-mode must be passed")
    if len(set(modes)) != len(modes):
        raise Unusable(f"authorization-mode {','.join(modes)} has mode specified more than once")
    if given.authorization_policy_file is not None and "ABAC" not in modes:
        raise Unusable("cannot specify --authorization-policy-file without mode ABAC")


def steps(given: argparse.Namespace) -> tuple[Step, ...]:
    """The authorizers. Raises Unusable."""
    file: Path | None = given.authorization_config
    found = _of_file(file) if file is not None else tuple(Step(each) for each in given.authorization_mode)
    if given.authorization_policy_file is None and any(each.mode == "ABAC" for each in found):
        raise Unusable("authorization-mode ABAC's authorization policy file not passed")
    if file is not None:
        return found
    webhook = _webhook(given)
    return tuple(Step(each.mode, webhook if each.mode == "Webhook" else None) for each in found)


def _of_file(file: Path) -> tuple[Step, ...]:
    try:
        return authorization.steps_of(file.read_bytes())
    except OSError as problem:
        raise Unusable(f"cannot read {file}: {problem.strerror}") from None
    except (ValueError, BadConfig) as problem:
        raise Unusable(str(problem)) from None


def _webhook(given: argparse.Namespace) -> Webhook | None:
    """Raises Unusable where mode and file do not go together."""
    file: Path | None = given.authorization_webhook_config_file
    if "Webhook" in given.authorization_mode and file is None:
        raise Unusable("authorization-mode Webhook's authorization config file not passed")
    if "Webhook" not in given.authorization_mode and file is not None:
        raise Unusable("cannot specify --authorization-webhook-config-file without mode Webhook")
    if file is None:
        return None
    settings = WebhookSettings(
        given.authorization_webhook_version,
        given.authorization_webhook_cache_authorized_ttl,
        given.authorization_webhook_cache_unauthorized_ttl,
    )
    return Webhook(access_in(file), settings)
