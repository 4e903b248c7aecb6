"""Names that stand for others: the answer to whoever asks for an ExternalName Service. Core.

What a resolver said of the other name is taken apart and put together again, which is rare and long-winded: dnslib does it.
"""

from struct import pack

from dnslib import CNAME, QTYPE, RR, DNSError, DNSRecord

from tiphys.dns import wire
from tiphys.dns.wire import Answer, Query

LIFETIME = 30


def question(asked: Query, target: bytes, number: bytes) -> Query:
    """The question for the other name, in the asker's place. `number`: two bytes by chance."""
    data = number + b"\x01\0" + pack("!HHHH", 1, 0, 0, 0) + target + asked.data[asked.end - 4 : asked.end]
    return Query(data, data[12:].lower(), len(data), wire.LARGEST_LIMIT, edns=False)


def answer(asked: Query, target: bytes, said: bytes | None, limit: int) -> bytes:
    """The alias, and then what was said of the other name; None: nothing could be found out."""
    # What a client put behind its question is nothing that has to be understood here.
    alone = asked.data[:4] + pack("!HHHH", 1, 0, 0, 0) + asked.data[12 : asked.end]
    message = DNSRecord.parse(alone)
    reply = message.reply(aa=1, ra=1)
    reply.add_answer(RR(message.q.qname, QTYPE.CNAME, ttl=LIFETIME, rdata=CNAME(".".join(wire.labels(target)))))
    if said is not None:
        try:
            reply.add_answer(*DNSRecord.parse(said).rr)
        except (DNSError, ValueError):
            return wire.failure(asked)
    body = bytes(reply.pack())[asked.end :]
    return wire.reply(asked, Answer(answers=len(reply.rr), body=body), limit)
