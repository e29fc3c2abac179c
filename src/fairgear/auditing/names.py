"""Names: what the data call the sensitive attribute, its groups, the label and its classes."""

from __future__ import annotations

from dataclasses import dataclass, replace

from fairgear.graph import SensitiveGraph
from fairgear.graph.attributes import Attribute, Bands, quantile_levels


@dataclass(frozen=True)
class Names:
    """What the data call the groups and the classes, by number; empty where they have no words.

    Attributes:
        groups: of the groups or, where the sensitive attribute is a number, of its ranges.
        classes: of the classes.
        number: the name of the sensitive attribute if it is a number, else empty.
        levels: the values that everybody is set to, where it is a number.
        attribute: the name of the sensitive attribute, such as "sex" or "race, sex".
        label: the name of the column that is predicted.
        attributes: where several attributes are crossed, each with its values.
        cells: the code of each group's value in every one of `attributes`.
    """

    groups: tuple[str, ...] = ()
    classes: tuple[str, ...] = ()
    number: str = ""
    levels: tuple[float, ...] = ()
    attribute: str = ""
    label: str = ""
    attributes: tuple[Attribute, ...] = ()
    cells: tuple[tuple[int, ...], ...] = ()

    @classmethod
    def of(cls, graph: SensitiveGraph) -> Names:
        """Those of a graph."""
        groups, classes = (tuple(graph.get(key) or ()) for key in ("sens_names", "label_names"))
        if not groups and graph.attributes is not None and not graph.continuous:
            known = graph.attributes.names
            # Names that are numbers alone say no more than those of the groups.
            groups = known if any(map(str.isalpha, "".join(known))) else ()
        attribute = ", ".join(one.name for one in graph.sensitive_attributes)
        label = str(graph.get("label_name") or "")
        if graph.attributes is None or not graph.continuous:
            found = cls(groups, classes, attribute=attribute, label=label)
            if graph.attributes is None or len(graph.attributes.each) < 2:
                return found
            crossed = graph.attributes
            return replace(found, attributes=crossed.each, cells=crossed.groups)
        sens = graph.sens.cpu().numpy()
        levels = tuple(quantile_levels(sens).tolist())
        return cls(Bands.of(sens).names, classes, graph.attributes.name, levels, attribute, label)
