"""How every component talks to the API server: requests, reflectors, informers, work queues, leader election."""
