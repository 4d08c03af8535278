"""What `make wheels` builds, installed and tried."""
