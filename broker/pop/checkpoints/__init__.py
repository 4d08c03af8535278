"""What is noted of popped messages: checkpoints, acknowledgements, and the offsets that follow them. On the loop."""
