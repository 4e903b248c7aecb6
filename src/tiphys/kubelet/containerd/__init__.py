"""A containerd of our own: its files, its network, its images, its process. Nothing outside the given directory is touched."""
