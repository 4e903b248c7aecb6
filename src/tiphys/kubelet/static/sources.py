"""Where a configuration says that static pods are. Core."""

from pathlib import Path

from tiphys.base.clock import Clock
from tiphys.base.log import Logger
from tiphys.kubelet.config import KubeletConfig
from tiphys.kubelet.configuration import seconds
from tiphys.kubelet.static.folder import Folder
from tiphys.kubelet.static.page import Page
from tiphys.kubelet.static.source import Source


def sources_of(config: KubeletConfig, clock: Clock, log: Logger) -> list[Source]:
    settings = config.settings
    made: list[Source] = []
    if folder := settings.get("staticPodPath"):
        made.append(Folder(Path(folder), config.node, clock, log))
    if url := settings.get("staticPodURL"):
        headers = settings.get("staticPodURLHeader") or {}
        made.append(Page(url, headers, seconds(settings, "httpCheckFrequency"), config.node, clock, log))
    return made
