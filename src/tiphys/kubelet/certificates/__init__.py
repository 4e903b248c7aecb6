"""The kubelet's two certificates (of its client, of its server), asked for by CertificateSigningRequest and renewed in time.

wish.py      which certificate, when it is due, what a request has come to   (core)
files.py     where they are kept between runs
manager.py   asks, waits, keeps, and asks again before the end
"""
