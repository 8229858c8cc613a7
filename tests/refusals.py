"""What a command that is refused says."""

from streameval.cli import run


def refused(capsys, *arguments, status=2):
    """Run a command that has to end in one line on standard error, with a status; the line."""
    capsys.readouterr()
    assert run([str(one) for one in arguments]) == status
    message = capsys.readouterr().err
    assert message.count("\n") == 1, message
    assert "Traceback" not in message
    return message
