def draw(rng, workshop):
    raise NotImplementedError
