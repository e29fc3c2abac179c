"""Methods to compare with: networks on the whole graph, and classifiers without a graph."""
