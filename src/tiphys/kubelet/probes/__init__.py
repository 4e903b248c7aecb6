"""Is a container alive, is it ready, has it started: `verdict` counts, `execute` asks, `watcher` does both over and over."""
