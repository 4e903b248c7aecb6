"""Rules for nftables: parts.py (Services as chains, sets and maps), table.py (transactions), kernel.py (nft)."""
