"""`streameval --install-completion`: apart, for what writes scripts of shells takes long to import."""

from __future__ import annotations

from cyclopts.completion.install import create_install_completion_command

from streameval.cli import app

install = create_install_completion_command(app.install_completion, add_to_startup=False)
