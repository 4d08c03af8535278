"""What programs with the official clients see on both servers: scenarios, and who plays them."""
