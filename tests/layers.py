"""The folders that are links in trimq/."""

LAYERS = (
    "admin",
    "base",
    "broker",
    "codec",
    "mqadmin",
    "namesrv",
    "processors",
    "remoting",
    "spark",
    "store",
)
