#!/usr/bin/env node
// Plain JavaScript, because it must run on any Node to say which one is needed.
const [major] = process.versions.node.split('.').map(Number)
if (major < 24) {
  process.stderr.write(
    `Berth needs Node 24 or newer and this is ${process.versions.node}. On Linux \`npm ci\` installs a fitting one and ` +
      '`npm start` uses it, unless optional dependencies were left out: run `npm ci` again without --omit=optional. ' +
      'Elsewhere install Node 24 from https://nodejs.org.\n',
  )
  process.exit(1)
}
if (!['worker', 'migrate'].includes(process.env.ROLE ?? '')) {
  const { buildConsole } = await import('../../scripts/build-console.ts')
  buildConsole()
}
await import('../src/main.ts')
