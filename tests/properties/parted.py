"""What holds after backward on ranks that each hold a part of every parameter."""


def assert_closed(window, verdict):
    """The gradients are what all ranks contributed, every parameter is reached, and each is held in parts."""
    assert () == verdict.faults
    assert {"last norm", "head", "embedding rows"} == {found.place for found in window.after.sums}
    assert window.after.reach.arrived.all()
    assert window.after.part.all()
    assert window.reached == window.trainable
