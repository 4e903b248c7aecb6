"""A pod's volumes: `plan` decides which folders and files, `host` makes them, `payload` says what is in them."""
