"""Administration of RocketMQ and TriMQ servers: `admin.client.AdminClient` in Trio,
`admin.blocking.BlockingAdminClient` in plain code.

Every operation is one async function of a `Link` (`admin.link`) in a file per subject. The two
clients are tables of those functions over two links: one waits in Trio, the other on a socket.
"""
