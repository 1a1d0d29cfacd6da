"""A busy machine makes no test fail: hypothesis has no deadline."""

from hypothesis import settings

settings.register_profile("mjfl", deadline=None)
settings.load_profile("mjfl")
