"""`tiphys COMMAND ...`: finds the command and runs it. Commands are imported only when they are used."""

import importlib
import signal
import sys

from tiphys.cmd.data_directory import Unusable

COMMANDS: dict[str, tuple[str, str]] = {
    "up": ("tiphys.cmd.up", "start a cluster on this machine"),
    "down": ("tiphys.cmd.down", "end what `tiphys up` started"),
    "status": ("tiphys.cmd.status", "show the components of a cluster and how they are"),
    "apiserver": ("tiphys.cmd.apiserver_command", "run the API server alone"),
    "controller-manager": ("tiphys.cmd.controllers", "run the controllers alone"),
    "scheduler": ("tiphys.cmd.scheduler_command", "run the scheduler alone"),
    "kubelet": ("tiphys.cmd.kubelet_command", "run the kubelet alone, on a container runtime that is there"),
    "sim": ("tiphys.cmd.sim_command", "run simulated nodes, without containers"),
    "node": ("tiphys.cmd.node_command", "run a node with a container runtime of its own"),
    "proxy": ("tiphys.cmd.proxy_command", "run the proxy of a node alone: Services reach their pods"),
    "dns": ("tiphys.cmd.dns_command", "run the DNS server alone: names of Services and pods"),
    "why": ("tiphys.cmd.why_command", "say why a pod has no node, does not run, or does not go; or why it is where it is"),
    "trace": ("tiphys.cmd.trace_command", "show what was done for a pod, step by step, and how long it took"),
    "backup": ("tiphys.cmd.backup", "copy the store of a cluster into one file, while it runs"),
    "restore": ("tiphys.cmd.backup", "put a backup in the place of a store"),
    "certs": ("tiphys.cmd.certs_command", "show the certificates of a cluster, or issue new ones"),
    "join": ("tiphys.cmd.join_command", "make this machine a node of a cluster that runs elsewhere"),
    "token": ("tiphys.cmd.token_command", "make, show or delete tokens by which nodes join"),
    "kubeconfig": ("tiphys.cmd.kubeconfig_command", "make a kubeconfig for a user or a service account"),
    "version": ("tiphys.cmd.version", "print the versions of Tiphys and of the API it serves"),
}


def usage() -> str:
    width = max(len(name) for name in COMMANDS)
    lines = [f"  {name:<{width}}  {told}" for name, (_, told) in COMMANDS.items()]
    return "usage: tiphys COMMAND [options]\n\nCommands:\n" + "\n".join(lines) + "\n\n`tiphys COMMAND --help` tells more."


def main(arguments: list[str] | None = None) -> int:
    given = sys.argv[1:] if arguments is None else arguments
    if not given or given[0] in ("-h", "--help", "help"):
        print(usage())
        return 0 if given else 2
    name, rest = given[0], given[1:]
    if name in ("--version", "-V"):
        name = "version"
    if name not in COMMANDS:
        print(_unknown(name), file=sys.stderr)
        return 2
    module = importlib.import_module(COMMANDS[name][0])
    try:
        result: int = module.main(name, rest)
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
    except OSError as problem:
        print(f"error: {_told(problem)}", file=sys.stderr)
        return 1
    except Unusable as problem:
        print(f"error: {problem}", file=sys.stderr)
        return 1
    return result


def _unknown(name: str) -> str:
    import difflib

    near = difflib.get_close_matches(name, COMMANDS, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    return f"error: unknown command {name!r}{hint}\n\n`tiphys --help` lists the commands."


def _told(problem: OSError) -> str:
    """In the words of the system, without its number."""
    words = problem.strerror or str(problem)
    return f"{problem.filename}: {words}" if problem.filename else words


if __name__ == "__main__":
    sys.exit(main())
