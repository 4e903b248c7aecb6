"""Pods of this node alone: files in a folder or a page say them, nobody schedules them, and the API shows a mirror of each.

`manifests` makes pods of what is read and mirrors of pods; `folder` and `page` read; `source` puts both together and keeps the
mirrors as they should be. A worker runs such a pod like any other; its status is written to the mirror.
"""
