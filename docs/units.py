"""What `deploy/systemd` holds: the units of an installation in /opt/trimq that listens on its own machine only."""

from typing import Final

from trimq.commands.service_units import SERVICE, SOCKET, Service, service_unit, socket_unit
from trimq.settings.endpoints import Endpoint
from trimq.settings.listening import broker_endpoints
from trimq.settings.options import NAMESRV_DEFAULT

_SERVICE: Final = Service(command=["/opt/trimq/bin/trimq", "server", "--store", "/var/lib/trimq"])
_BROKER: Final = Endpoint("127.0.0.1", 10911)
_LISTENS_ON: Final = [
    Endpoint.parse(NAMESRV_DEFAULT),
    *(endpoint for _, endpoint in broker_endpoints(_BROKER)),
]
UNITS: Final = {SERVICE: service_unit(_SERVICE), SOCKET: socket_unit(_LISTENS_ON)}
