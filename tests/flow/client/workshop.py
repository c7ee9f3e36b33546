"""A folder with the typed client of a model, and the programs that compile, bundle and run it."""
import json
import os
import pathlib
import shutil
import subprocess

HERE = pathlib.Path(__file__).parent
CONSTANT_PART = HERE.parents[2] / "services/api-gateway/client/client.ts"
STRICT = {
    "strict": True, "exactOptionalPropertyTypes": True, "noUncheckedIndexedAccess": True, "noUnusedLocals": True, "noUnusedParameters": True,
    "noImplicitOverride": True, "noImplicitReturns": True, "noFallthroughCasesInSwitch": True, "noPropertyAccessFromIndexSignature": True,
    "erasableSyntaxOnly": True, "verbatimModuleSyntax": True, "isolatedModules": True, "skipLibCheck": True, "noEmit": True,
    "allowImportingTsExtensions": True, "target": "es2022", "module": "nodenext", "moduleResolution": "nodenext",
}


def run_node(folder, *command, **environment):
    """Runs node in a folder and returns its output; an exit status other than 0 fails the test."""
    done = subprocess.run(["node", *map(str, command)], cwd=folder, env={**os.environ, **environment}, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, f"node {' '.join(map(str, command))}\n{done.stdout[-8000:]}\n{done.stderr[-4000:]}"
    return done.stdout


class Workshop:
    """A folder with client.ts and programs that import it. `client`: the whole text of client.ts."""

    def __init__(self, folder, packages, client, programs=()):
        self.folder, self.packages = folder, packages
        (folder / "package.json").write_text('{"type": "module"}')
        (folder / "node_modules").symlink_to(packages)
        (folder / "client.ts").write_text(client)
        for program in programs:
            shutil.copy(HERE / program, folder)

    def run(self, *command, **environment):
        return run_node(self.folder, *command, **environment)

    def compile(self, compiler, *programs, lib=("es2022", "dom"), types=()):
        """Checks programs. `compiler`: the name of a package. Returns the compiler's figures."""
        options = {**STRICT, "lib": lib, "types": types}
        (self.folder / "tsconfig.json").write_text(json.dumps({"compilerOptions": options, "files": programs}))
        return self.run(self.packages / compiler / "bin/tsc", "-p", ".", "--extendedDiagnostics")

    def bundle(self, program, *options):
        """Writes the program and the modules that it imports to one file for node; returns its path."""
        out = self.folder / f"{pathlib.Path(program).stem}.mjs"
        self.run(self.packages / "esbuild/bin/esbuild", program, "--bundle", "--format=esm", "--target=es2022", "--log-level=warning",
                 f"--outfile={out}", *options)
        return out
