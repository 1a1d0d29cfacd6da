"""What is wrong with a file of data."""

from mjfl.errors import MjflError


class DataError(MjflError):
    """Data that is missing, cut short, foreign or changed: the file, what was expected and what was found."""

    exit_code = 2

    def __init__(self, file: object, problem: str) -> None:
        self.file, self.problem = str(file), problem
        super().__init__(f"{file}: {problem}")
