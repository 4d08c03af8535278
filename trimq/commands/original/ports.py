"""Where RocketMQ's servers listen when nothing else is said. Apart, since the health check loads little."""

from typing import Final

BROKER_PORT: Final = 10911
NAMESRV_PORT: Final = 9876
GRPC_PORT: Final = 8081
