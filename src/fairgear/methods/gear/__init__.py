"""GEAR: representations that are alike on a person's factual and counterfactual egos."""
