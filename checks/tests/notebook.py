"""notebook.py NOTEBOOK FOLDER: runs a notebook's cells in FOLDER as Jupyter would: !command, %cd, %%writefile, and SVG(FILE), which must be one.

A code cell's metadata say what is expected: {"expected": {"says": [pieces of its output], "status": of its last command}}.
Any other line is a failure, so that no cell is left out in silence. Prints `N passed, M failed`."""
import json
import os
import re
import subprocess
import sys
import xml.etree.ElementTree

SECONDS = 600


def run(source):
    """The output of a cell, and the status of its last command."""
    if source.startswith("%%writefile "):
        name, text = source[len("%%writefile ") :].split("\n", 1)
        with open(name, "w") as file:
            file.write(text)
        return "", 0
    output, status = "", 0
    for line in source.splitlines():
        if line.startswith("!"):
            done = subprocess.run(line[1:], shell=True, text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=SECONDS)
            output, status = output + done.stdout, done.returncode
        elif line.startswith("%cd "):
            os.chdir(line[len("%cd ") :])
        elif picture := re.fullmatch(r'SVG\("(.*)"\)', line):
            if not xml.etree.ElementTree.parse(picture[1]).getroot().tag.endswith("svg"):
                raise ValueError(picture[1] + " is no SVG")
        elif line != "from IPython.display import SVG":
            raise ValueError("this runner does not know: " + line)
    return output, status


def main(notebook, folder):
    with open(notebook) as file:
        cells = [cell for cell in json.load(file)["cells"] if cell["cell_type"] == "code"]
    os.chdir(folder)
    good = 0
    for number, cell in enumerate(cells, 1):
        source, expected = "".join(cell["source"]), cell["metadata"]["expected"]
        try:
            output, status = run(source)
            wrong = [piece for piece in expected["says"] if piece not in output]
            trouble = f"exit {status}, {expected['status']} expected" if status != expected["status"] else f"lacks {wrong}" if wrong else ""
        except (OSError, ValueError, subprocess.TimeoutExpired, xml.etree.ElementTree.ParseError) as error:
            output, trouble = "", str(error)
        good += not trouble
        if trouble:
            print(f"cell {number}: {trouble}: {source.splitlines()[0]}\n" + "\n".join(output.splitlines()[-8:]))
    print(f"{good} passed, {len(cells) - good} failed")
    return 0 if good == len(cells) else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
