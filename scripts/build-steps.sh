# Builds the wasm module, the package and the site. tests/run, tests/soak and demo/run source this
# file after env.sh. Each step runs once per command, and does little if its outputs are up to date.
# REQUIRES: the step before has run. The log of a step is build/logs/<step>.log.
declare -A built  # step -> exit status

# Runs the step $1 once; later calls return its status. Prints the end of the log if the step
# failed.
build() {
  local log=$root/build/logs/$1.log
  if [[ ! -v built[$1] ]]; then
    mkdir -p "$root/build/logs"
    if ("build_$1") >"$log" 2>&1; then built[$1]=0; else built[$1]=1; fi
  fi
  if ((built[$1])); then echo "building failed: $1"; tail -n 40 "$log"; fi
  return "${built[$1]}"
}

# Each step is one chain of &&, because `set -e` has no effect in a command whose status is tested.

# The wasm module: build/wasm/bindings.
build_wasm() {
  cd "$root" && emcmake cmake --preset wasm && cmake --build --preset wasm
}

# The npm package: build/package/entitable-<version>.tgz. Prints sizes. The entries for frameworks
# are compiled with the frameworks' types, which are installed for the tests of types.
build_package() {
  "$root/scripts/setup" tests/types && cd "$root" && rm -f build/package/*.tgz && node web/build.mjs
}

# The playground: build/site.
build_site() {
  install_demo site && npm run build
}

# The example, ready for `npm test`, which builds it.
build_example() {
  install_demo example
}

# Installs the npm packages of demo $1 and unpacks the built package there. npm would keep an older
# package of the same version.
install_demo() {
  local unpacked=node_modules/entitable
  "$root/scripts/setup" "demo/$1" && cd "$root/demo/$1" && rm -rf $unpacked && mkdir $unpacked &&
    tar -xzf "$root"/build/package/entitable-*.tgz -C $unpacked --strip-components=1
}

# The core's benchmarks, native: build/bench. This step needs no other step.
build_bench() {
  cd "$root" && cmake --preset bench && cmake --build --preset bench
}
