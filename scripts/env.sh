# Sourced by the commands: makes sure that the tools are there, and puts the pinned ones first.
# REQUIRES: bash. Gives: $root, PATH, and what compilers and Node read from the environment.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
"$root/scripts/setup"

PATH="$("$root/scripts/toolchain/path"):$root/node_modules/.bin:$PATH"
export PATH
# emcc's optimiser asks Node for acorn, which only Debian's own Node would find by itself.
export NODE_PATH="$root/node_modules"
# A compiler cache where there is one, shared by all clones of the repository: no absolute path in what is hashed.
if command -v ccache >/dev/null; then
  export ENTITABLE_COMPILER_LAUNCHER=ccache CCACHE_BASEDIR="$root" CCACHE_NOHASHDIR=1
fi
