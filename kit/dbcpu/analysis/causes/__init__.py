"""Why a session took longer."""
