"""The environment variables that tell a container of Services (pkg/kubelet/envvars/envvars.go)."""

from collections.abc import Iterable

from tiphys.machinery.tree import Obj


def service_variables(services: Iterable[Obj], namespace: str, *, links: bool) -> dict[str, str]:
    """Of the API server's Service always; of all those of the pod's namespace where it wants links to them."""
    chosen: dict[str, Obj] = {}
    for service in services:
        meta, spec = service["metadata"], service["spec"]
        if spec.get("clusterIP") in (None, "", "None"):
            continue
        is_master = meta["namespace"] == "default" and meta["name"] == "kubernetes"
        if (links and meta["namespace"] == namespace) or (is_master and meta["name"] not in chosen):
            chosen[meta["name"]] = service
    made: dict[str, str] = {}
    for name in sorted(chosen):
        made.update(_of(name, chosen[name]["spec"]))
    return made


def _of(name: str, spec: Obj) -> dict[str, str]:
    prefix = name.upper().replace("-", "_")
    address, ports = spec["clusterIP"], spec.get("ports") or ()
    made = {f"{prefix}_SERVICE_HOST": address}
    if not ports:
        return made
    made[f"{prefix}_SERVICE_PORT"] = str(ports[0]["port"])
    for port in ports:
        if port.get("name"):
            made[f"{prefix}_SERVICE_PORT_{port['name'].upper().replace('-', '_')}"] = str(port["port"])
    shown = f"[{address}]" if ":" in address else address
    for index, port in enumerate(ports):
        protocol = (port.get("protocol") or "TCP").upper()
        url = f"{protocol.lower()}://{shown}:{port['port']}"
        if index == 0:
            made[f"{prefix}_PORT"] = url
        one = f"{prefix}_PORT_{port['port']}_{protocol}"
        made[one] = url
        made[f"{one}_PROTO"] = protocol.lower()
        made[f"{one}_PORT"] = str(port["port"])
        made[f"{one}_ADDR"] = address
    return made
