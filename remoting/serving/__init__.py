"""The server's side: connections, one receive at a time, dispatch, parked replies. On the loop."""
