#!/bin/sh
# alone.sh COMMAND...: a program that calls make, in which the jobs of the make that starts it are not shared.
MAKEFLAGS=$(echo "${MAKEFLAGS-}" | sed -E 's/ *--jobserver-[a-z]+=[^ ]*//g; s/(^| )-?j[0-9]*//g')
export MAKEFLAGS
exec "$@"
