"""Rules for IPVS: parts.py (Services as virtual servers), servers.py (text for ipvsadm and ip), kernel.py (the programs)."""
