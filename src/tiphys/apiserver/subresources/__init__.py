"""Subresources that are more than a part of their object: scale, binding, eviction, token, reviews, exec and their kin."""
