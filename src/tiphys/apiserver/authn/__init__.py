"""Authentication: who is it? One file a way of proving it; `chain.py` lists the order."""
