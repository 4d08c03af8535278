"""What brokers ask clients of: one file a question, relayed down the client's stream and back."""
