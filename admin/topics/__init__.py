"""Operations on topics and their queues."""
