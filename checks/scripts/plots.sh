#!/bin/sh
# plots.sh [check] [KERNEL...]: draws the figures, or says whether they are what results and code give; with kernels, also the steps that
# figures are made of. Drawing needs matplotlib, in an environment of its own; PYTHON is in the environment.
if [ "${1:-}" = check ]; then
  shift
  $PYTHON checks/plots/plots.py record check "$@" && exec $PYTHON checks/plots/plots.py check
fi
[ $# = 0 ] || $PYTHON checks/plots/plots.py record "$@" || exit
if [ ! .venv/ready -nt checks/plots/requirements.txt ]; then
  $PYTHON -m venv .venv && .venv/bin/pip install -q --disable-pip-version-check -r checks/plots/requirements.txt && touch .venv/ready ||
    { echo 'make plots needs Python 3.10 or newer with venv, and matplotlib from a package index or a mirror' >&2; exit 2; }
fi
exec .venv/bin/python checks/plots/plots.py draw
