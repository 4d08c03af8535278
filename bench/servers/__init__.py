"""What is compared, and what the kernel says of it."""
