# Sourced by the commands: installs missing tools and puts the pinned tools first in PATH.
# REQUIRES: bash. Sets $root, PATH, and the environment variables of compilers and Node.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
"$root/scripts/setup"

PATH="$("$root/scripts/toolchain/path"):$root/node_modules/.bin:$PATH"
export PATH
# emcc's optimiser imports acorn. Only Debian's Node finds the package without this variable.
export NODE_PATH="$root/node_modules"
# Uses ccache if it is installed. All clones share the cache, so hashes contain no absolute paths,
# except for files that are compiled in groups.
if command -v ccache >/dev/null; then
  export ENTITABLE_COMPILER_LAUNCHER=ccache CCACHE_BASEDIR="$root" CCACHE_NOHASHDIR=1
fi
