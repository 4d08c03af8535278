"""The endpoint of the 5.x clients: gRPC outside, remoting inside, before any RocketMQ or TriMQ.

    bytes -> http2/        frames of one connection -> what happened (sans-IO)
          -> grpc/         streams -> calls: messages, deadlines, statuses
          -> rpcs/         one call a file: check, ask, answer
          -> links, routes a few connections to each server, and who has a topic

HTTP/2 knows nothing of gRPC, gRPC nothing of RocketMQ, the calls nothing of sockets.
"""
