"""The user's folders by the XDG base directory specification, on macOS too; None where the user has no home folder.

What is no absolute path in XDG_DATA_HOME and the others is passed over, as the specification asks.
"""

from pathlib import Path

APPLICATION = "dbcpu"


def data_folder() -> Path | None:
    """Where runs are kept."""
    from platformdirs.unix import Unix  # most commands need none of these folders

    return _known(Unix(APPLICATION).user_data_path)


def state_folder() -> Path | None:
    """Where journals and crash reports are kept."""
    from platformdirs.unix import Unix

    return _known(Unix(APPLICATION).user_state_path)


def config_folder() -> Path | None:
    """Where the user's dbcpu.toml is."""
    from platformdirs.unix import Unix

    return _known(Unix(APPLICATION).user_config_path)


def _known(folder: Path) -> Path | None:
    """A ``~`` that stands for nothing stays in the path."""
    return folder if folder.is_absolute() else None
