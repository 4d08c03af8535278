"""The message index: finding messages by key. Runs on the loop; `writing` and `search` run in worker threads too."""
