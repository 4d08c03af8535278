"""The messages of apache.rocketmq.v2, generated from the .proto files beside."""
