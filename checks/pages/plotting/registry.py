"""Every figure by its name: what it is drawn from, and how. A drawing is named where it stands: @figure("walk", data_walk)."""

FAMILIES = []  # functions of the results that give NAME -> (data, drawing)


def figure(name, data, where=lambda r: True):
    """Names a drawing of `data(results)`, which is there `where` the results have something to draw."""
    def named(drawing):
        FAMILIES.append(lambda r: {name: (data(r), drawing)} if where(r) else {})
        return drawing
    return named


def figures(family):
    """Figures whose names follow from the results."""
    FAMILIES.append(family)
    return family


def all_figures(r):
    return {name: one for family in FAMILIES for name, one in family(r).items()}
