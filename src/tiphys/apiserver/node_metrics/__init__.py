"""metrics.k8s.io: what is used, asked of the kubelets when somebody (`kubectl top`, an autoscaler) wants to know."""

from tiphys.apiserver.node_metrics.endpoints import get, list_metrics
from tiphys.apiserver.node_metrics.scraping import Scraper

__all__ = ["Scraper", "get", "list_metrics"]
