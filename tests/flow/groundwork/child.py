"""Runs a module of this package as a separate process, so that it takes no time from the test."""
import pathlib
import subprocess
import sys


class Child:
    """Receives commands as lines on its standard input; is killed at the end of the block."""

    def __init__(self, module, *arguments, **options):
        self.process = subprocess.Popen([sys.executable, "-m", module, *arguments], cwd=pathlib.Path(__file__).parents[1],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, **options)

    def say(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def close(self):
        self.process.kill()
        self.process.wait()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()
