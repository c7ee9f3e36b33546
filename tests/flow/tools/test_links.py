"""The links in the READMEs point to existing files."""
import re
import subprocess

import pytest

from groundwork.servers import ROOT

FILES = subprocess.run(["git", "ls-files", "*.md"], cwd=ROOT, capture_output=True, text=True).stdout.split()


@pytest.mark.parametrize("path", FILES)
def test_links(path):
    targets = re.findall(r"\]\(([^)#\s]+)[^)]*\)", (ROOT / path).read_text())
    gone = [target for target in targets if "://" not in target and not ((ROOT / path).parent / target).exists()]
    assert not gone
