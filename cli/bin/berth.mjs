#!/usr/bin/env node
// Plain JavaScript, because it must run on older versions of Node to report the required one.
const [major, minor] = process.versions.node.split('.').map(Number)
if (major < 20 || (major === 20 && minor < 12)) {
  process.stderr.write(`berth requires Node 20.12 or later, and this is ${process.versions.node}.\n`)
  process.exit(1)
}
await import('../dist/main.js')
