#!/usr/bin/env bash
# The steps of a CI job as they are written for Azurite. Where a line was changed, the comment
# before it is the line for Azurite.
set -euo pipefail
port=${TABLE_PORT:-10002}

# npm install --global azurite
npm install --global entitable

mkdir -p data
# azurite-table --silent --location data --debug data/debug.log --tablePort "$port" >data/out.log &
entitable-azurite --silent --location data --debug data/debug.log --tablePort "$port" >data/out.log &
server=$!
trap 'kill "$server"' EXIT

npx wait-on --timeout 60000 "tcp:127.0.0.1:$port"
timeout 60 bash -c 'until grep -q "Azurite Table service successfully started on" data/out.log; do sleep 0.1; done'
curl --silent --output /dev/null --max-time 5 --retry 60 --retry-max-time 60 --retry-delay 1 --retry-connrefused "http://127.0.0.1:$port/devstoreaccount1"

npm test
