"""Metrics that are read from elsewhere when somebody asks for them: how much is stored, and which version this is."""

from collections.abc import Mapping

from tiphys.apiserver.catalogue import Catalogue
from tiphys.base.metrics import Registry
from tiphys.store.interface import Store

_VERSION = {
    "major": "major",
    "minor": "minor",
    "git_version": "gitVersion",
    "git_commit": "gitCommit",
    "git_tree_state": "gitTreeState",
    "build_date": "buildDate",
    "go_version": "goVersion",
    "compiler": "compiler",
    "platform": "platform",
}


def show_store(metrics: Registry, store: Store, catalogue: Catalogue) -> None:
    objects = metrics.gauge("apiserver_resource_objects", "Objects stored", ("group", "resource"))
    # The name until v1.34; dashboards know it.
    named = metrics.gauge("apiserver_storage_objects", "Objects stored, by the full name of their resource", ("resource",))
    size = metrics.gauge("apiserver_storage_size_bytes", "What the store takes on disk", ("storage_cluster_id",))

    def refresh() -> None:
        for served in catalogue:
            kind = served.kind
            if kind.ephemeral or kind.reported or kind.stored_as is not None:
                continue
            count = store.count(kind.prefix)
            objects.labels(kind.group, kind.plural).set(count)
            named.labels(f"{kind.plural}.{kind.group}" if kind.group else kind.plural).set(count)
        size.labels("").set(store.size())

    metrics.before_render(refresh)


def show_version(metrics: Registry, version: Mapping[str, str]) -> None:
    told = metrics.gauge("kubernetes_build_info", "Always 1; the labels tell the version", tuple(_VERSION))
    told.labels(*(version[each] for each in _VERSION.values())).set(1)
