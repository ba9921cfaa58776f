"""One callable of each kind that a seam can be."""

import contextlib
import functools


def decorated(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        return ["wrapped", function(*args, **kwargs)]

    return wrapper


def enclosing(step, factor):
    def enclosed(self, x):
        return factor * x + step

    return enclosed


def free(x, y=2):
    return x - y


class Parent:
    def greet(self, x):
        return f"parent {x}"

    def inherited(self, x):
        return f"inherited {x}"


class Zoo(Parent):
    def plain(self, x, factor=2):
        return x * factor

    def positional(self, x, y=3, /):
        return x - y

    def keyword(self, *, x, y=4):
        return x - y

    def stars(self, first, *rest, **named):
        return [first, rest, named]

    def greet(self, x):
        return f"{super().greet(x)} child"

    def items(self, n):
        yield from range(n)

    @staticmethod
    def static(x=5):
        return x + 1

    @classmethod
    def named(cls, x):
        return f"{cls.__name__} {x}"

    @property
    def width(self):
        return 7

    @decorated
    def wrapped(self, x, y=6):
        return x * y

    @contextlib.contextmanager
    def opened(self, x):
        yield x

    enclosed = enclosing(8, 3)


# By the name in the seam: how it is called, through every road that it takes its arguments.
CALLS = {
    "free": lambda zoo: [free(9), free(9, 1), free(y=1, x=9)],
    "Zoo.plain": lambda zoo: [zoo.plain(9), zoo.plain(9, 3), zoo.plain(factor=3, x=9)],
    "Zoo.positional": lambda zoo: [zoo.positional(9), zoo.positional(9, 1)],
    "Zoo.keyword": lambda zoo: [zoo.keyword(x=9), zoo.keyword(y=1, x=9)],
    "Zoo.stars": lambda zoo: [zoo.stars(1), zoo.stars(1, 2, 3, a=4), zoo.stars(a=2, first=1)],
    "Zoo.greet": lambda zoo: [zoo.greet("x")],
    "Zoo.inherited": lambda zoo: [zoo.inherited("x")],
    "Zoo.static": lambda zoo: [zoo.static(), zoo.static(9), Zoo.static(x=1)],
    "Zoo.named": lambda zoo: [zoo.named("x"), Zoo.named("y")],
    "Zoo.width": lambda zoo: [zoo.width],
    "Zoo.wrapped": lambda zoo: [zoo.wrapped(9), zoo.wrapped(9, y=1)],
    "Zoo.enclosed": lambda zoo: [zoo.enclosed(9)],
    "Zoo.items": lambda zoo: [list(zoo.items(3))],
}
