"""What the server hands out when objects are written: Service addresses and node ports."""
