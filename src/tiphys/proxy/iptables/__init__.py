"""Rules for iptables: parts.py (Services as chains), restore.py (text for iptables-restore), kernel.py (the programs)."""
