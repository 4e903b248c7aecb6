"""One file a plugin. Which of them run, in which order and with which weights, is said in `profiles`."""
