"""Commented configs to start from."""

from importlib.resources import files

from mjfl.errors import ConfigError


def descriptions() -> dict[str, str]:
    """Every template with its first line."""
    found = {}
    for file in files(__name__).iterdir():
        if file.name.endswith(".toml"):
            found[file.name.removesuffix(".toml")] = file.read_text("utf-8").splitlines()[0].lstrip("# ")
    return found


def text(name: str) -> str:
    """A template's text."""
    known = descriptions()
    if name not in known:
        raise ConfigError(f"{name!r} is no template; known: {', '.join(sorted(known))}")
    return files(__name__).joinpath(f"{name}.toml").read_text("utf-8")
