"""Headers about a broker itself."""

from codec.headers.base import Header


class GetBrokerConfigResponseHeader(Header, kw_only=True):
    """Answers GET_BROKER_CONFIG."""

    version: str
