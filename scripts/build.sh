# Sourced by tests/run and demo/run after env.sh: how the module, the package and the site are built. A step happens once
# per command, does little when all is up to date, and REQUIRES the one before; its log is build/logs/<step>.log.
declare -A built  # step -> exit status

# Runs the step of that name once, and from then on only repeats its status. Shows the end of the log if it failed.
build() {
  local log=$root/build/logs/$1.log
  if [[ ! -v built[$1] ]]; then
    mkdir -p "$root/build/logs"
    if ("build_$1") >"$log" 2>&1; then built[$1]=0; else built[$1]=1; fi
  fi
  if ((built[$1])); then echo "building failed: $1"; tail -n 40 "$log"; fi
  return "${built[$1]}"
}

# Each step is one chain: whoever asks for its status switches `set -e` off in it.

# The wasm module: build/wasm/bindings.
build_wasm() {
  cd "$root" && emcmake cmake --preset wasm && cmake --build --preset wasm
}

# The npm package: build/package/entitable-<version>.tgz. Prints sizes.
build_package() {
  cd "$root" && rm -f build/package/*.tgz && node web/build.mjs
}

# The playground: build/site.
build_site() {
  install_demo site && npm run build
}

# The example, ready for `npm test`, which builds it.
build_example() {
  install_demo example
}

# What a demo needs, and the packed package unpacked beside it; npm would keep an older one of the same version.
install_demo() {
  local unpacked=node_modules/entitable
  "$root/scripts/setup" "demo/$1" && cd "$root/demo/$1" && rm -rf $unpacked && mkdir $unpacked &&
    tar -xzf "$root"/build/package/entitable-*.tgz -C $unpacked --strip-components=1
}

# The core's benchmarks, natively: build/bench. It needs none of the others.
build_bench() {
  cd "$root" && cmake --preset bench && cmake --build --preset bench
}
