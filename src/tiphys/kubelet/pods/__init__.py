"""One pod from "assigned to this node" to "gone": `lifecycle` says where it is, `actions` what to do, `workers` does it."""
