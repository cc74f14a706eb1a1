"""Rows of the tables of table_checks.py, and the text of a refusal, for clients that store tables."""


def columns(count):
    return {
        "id": range(count),
        "label": [f"row {n}" for n in range(count)],
        "value": [n / 2 for n in range(count)],
        "part": [n % 4 for n in range(count)],
    }


def refusal(write, errors=OSError):
    """The text of the error that `write` ends with; None if it does not."""
    try:
        write()
    except errors as error:
        return str(error)
    return None
