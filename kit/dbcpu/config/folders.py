"""The user's folders by the XDG base directory specification, on macOS too; None where the user has no home folder.

What is no absolute path in XDG_DATA_HOME and the others is passed over, as the specification asks.
"""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from platformdirs.unix import Unix

APPLICATION = "dbcpu"


def data_folder() -> Path | None:
    """Where runs are kept."""
    return _known(lambda unix: unix.user_data_path)


def state_folder() -> Path | None:
    """Where journals and crash reports are kept."""
    return _known(lambda unix: unix.user_state_path)


def config_folder() -> Path | None:
    """Where the user's dbcpu.toml is."""
    return _known(lambda unix: unix.user_config_path)


def _known(folder: "Callable[[Unix], Path]") -> Path | None:
    from platformdirs.unix import Unix  # most commands need none of these folders

    try:
        return folder(Unix(APPLICATION))
    except RuntimeError:
        return None
