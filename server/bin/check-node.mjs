// `npm start` runs this first: older versions of Node don't know its flags, and would not reach the message.
const [major] = process.versions.node.split('.').map(Number)
if (major < 24) {
  process.stderr.write(
    `Berth requires Node 24 or later, and this is ${process.versions.node}. On Linux, run \`npm ci\` without --omit=optional: it ` +
      'installs Node 24, and `npm start` uses it. Elsewhere, install Node 24 from https://nodejs.org.\n',
  )
  process.exit(1)
}
