"""The caller's side: `client` awaits on Trio, `blocking` is for plain threads and loads no Trio."""
