// Kills random components of an installation on a real backend with SIGKILL, and looks for damage:
// `-- --runtime xinference|kubernetes --rounds 25 --seed 1`. Needs what test:xinference or test:kubernetes needs.
import { parseArgs } from 'node:util'
import { openCluster } from './cluster.ts'
import { runCommand, runSuite } from './suite.ts'
import { installXinference } from './xinference-environment.ts'

const { values } = parseArgs({ strict: false, options: { runtime: { type: 'string' } } })

await runSuite('component-kill', async (cleanUps) => {
  const environment =
    values.runtime === 'kubernetes'
      ? await openCluster(cleanUps)
      : { TEST_XINFERENCE: await installXinference('3.5.0') }
  await runCommand(
    process.execPath,
    ['server/test/chaos/component-kill.ts', ...process.argv.slice(2)],
    environment,
  )
})
