"""What goes wrong in a way that a user can mend: each error says what was found and what would be right."""


class MjflError(Exception):
    """Anything the command line reports without a traceback."""

    exit_code = 1


class ConfigError(MjflError):
    """A value that cannot be used, with its place in the file."""

    exit_code = 2

    def __init__(self, problem: str, *, path: str = "", source: str = "") -> None:
        self.path, self.source, self.problem = path, source, problem
        super().__init__(": ".join(part for part in (source, path, problem) if part))


class RunFolderError(MjflError):
    """A run folder that cannot be read or continued."""

    exit_code = 2


class RunFailed(MjflError):
    """A run that began and could not go on; what it had written is safe."""
