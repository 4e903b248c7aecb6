"""Admission: after authorization, before validation and the store. One file a plugin; `chain.py` has the order."""
