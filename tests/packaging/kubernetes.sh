#!/bin/bash
# The DaemonSet is one by Kubernetes' schema, and records as sprof.service does, with its capabilities: what service.sh finds
# of the unit's command holds here, too.
#     kubernetes.sh SOURCE
set -u
source=$1
command -v npm >/dev/null || { echo "SKIPPED: there is no npm"; exit 77; }
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
npm install --no-audit --no-fund --prefix "$work" kubernetes-models@4 yaml@2 >"$work/log" 2>&1 ||
    { echo "SKIPPED: npm cannot install the schema: $(tail -n 1 "$work/log")"; exit 77; }
cd "$work" || exit 1
cat >check.js <<'END'
const fs = require('fs'), {DaemonSet} = require('kubernetes-models/apps/v1');
const read = () => require('yaml').parse(fs.readFileSync(process.argv[2], 'utf8'));
new DaemonSet(read()).validate();
// The schema notices what is wrong.
const wrong = read();
wrong.spec.template.spec.containers[0].securityContext.capabilities = 'all';
let noticed = false;
try { new DaemonSet(wrong).validate(); } catch { noticed = true; }
if (!noticed) throw new Error('a wrong one is valid, too');
const [container] = read().spec.template.spec.containers;
const unit = fs.readFileSync(process.argv[3], 'utf8');
const capabilities = unit.match(/^CapabilityBoundingSet=(.*)$/m)[1].replace(/CAP_/g, '').split(' ');
const words = unit.match(/^ExecStart=(.*)$/m)[1].replace('${STATE_DIRECTORY}', '/var/lib/sprof').split(' ');
const same = require('assert').deepStrictEqual;
same(container.securityContext.capabilities.add, capabilities);
same([...container.command, ...container.args.slice(0, words.length - 1)], words);
same(container.args[words.length - 1], '--push');
END
node check.js "$source/docs/fleet/kubernetes.yaml" "$source/packaging/systemd/sprof.service" >&2
