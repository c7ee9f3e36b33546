"""Runs programs of npm packages in the folder of this file."""
import os
import pathlib
import subprocess

HERE = pathlib.Path(__file__).parent


def run(*command):
    quiet = {**os.environ, "REDOCLY_TELEMETRY": "off", "REDOCLY_SUPPRESS_UPDATE_NOTICE": "true"}
    done = subprocess.run(command, cwd=HERE, env=quiet, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, f"{' '.join(map(str, command))}\n{done.stdout[-8000:]}\n{done.stderr[-4000:]}"
    return done.stdout
