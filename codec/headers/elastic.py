"""Headers about elastic topics: requests of TriMQ's own (codec.codes.OwnRequestCode)."""

from trimq.codec.headers.base import Header


class ElasticTopicRequestHeader(Header, kw_only=True):
    """Names the topic of an ELASTIC_* request; what to do is in the body."""

    topic: str
