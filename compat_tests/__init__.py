"""Official clients, official tools and the real RocketMQ against TriMQ: public interfaces only."""
