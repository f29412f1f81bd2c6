#!/usr/bin/env node
// berth.mjs [file of settings]. Plain JavaScript, because it must run on any Node to say which one is needed.
import cluster from 'node:cluster'

const [major] = process.versions.node.split('.').map(Number)
if (major < 24) {
  process.stderr.write(
    `Berth needs Node 24 or newer and this is ${process.versions.node}. On Linux \`npm ci\` installs a fitting one and ` +
      '`npm start` uses it, unless optional dependencies were left out: run `npm ci` again without --omit=optional. ' +
      'Elsewhere install Node 24 from https://nodejs.org.\n',
  )
  process.exit(1)
}

// `npm start` names `.env`, so that what starts this file itself, such as a test, never meets a developer's settings. What the
// environment has wins, and the processes of an API have what this one read.
const settingsFile = process.argv[2]
if (settingsFile !== undefined && cluster.isPrimary) {
  try {
    process.loadEnvFile(settingsFile)
  } catch (error) {
    if (error.code !== 'ENOENT') {
      process.stderr.write(`Berth can't run: settings can't be read of ${settingsFile}: ${error.message}\n`)
      process.exit(1)
    }
  }
}

if (!['worker', 'migrate'].includes(process.env.ROLE ?? '')) {
  const { buildConsole } = await import('../../scripts/build-console.ts')
  buildConsole()
}
await import('../src/main.ts')
