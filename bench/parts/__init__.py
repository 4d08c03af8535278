"""One section of bench/RESULTS.md each."""
