"""Namespace controller: a namespace that is being deleted is emptied, its pods first, and let go when nothing is left in it."""

from tiphys.controllers.namespace.controller import NamespaceController, World

__all__ = ["NamespaceController", "World"]
