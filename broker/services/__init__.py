"""What happens without a request. Each awaits; blocking work goes to a worker thread."""
