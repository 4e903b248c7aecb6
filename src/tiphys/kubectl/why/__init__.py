"""`tiphys why pod/NAME`: why a pod is not where somebody expects it to be.

`gather` asks the API server for what is known of the pod (`facts`); each other file is one kind of answer, a pure function from
those facts to an `Answer`, or None where it has nothing to say. `answers` lists them in the order in which they are shown.
"""
