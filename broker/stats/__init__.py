"""What is counted and what operators see of it. On the loop; never blocks."""
