// Breaks the parts of an installation behind haproxy one after the other, under load, and prints a table of
// what that did. `-- --only database` chooses a component or a fault. Needs root, haproxy, prlimit, and
// PostgreSQL's programs.
import { hasHaproxy } from '../../server/test/support/haproxy.ts'
import { runCommand } from '../../tools/programs.ts'
import { runSuite } from './suite.ts'

await runSuite('faults', async () => {
  if (!hasHaproxy()) throw new Error('This machine has no haproxy. Install it, such as Debian’s package.')
  await runCommand(process.execPath, ['server/test/chaos/faults/run-faults.ts', ...process.argv.slice(2)])
})
