"""Connected clients: what heartbeats say of them, when they expire, what they may register, and producers."""
