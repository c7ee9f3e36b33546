"""A module of this package as a process of its own, so that it costs the test nothing."""
import pathlib
import subprocess
import sys


class Child:
    """Spoken to in lines; gone at the end of the block."""

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
