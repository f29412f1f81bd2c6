// Kills random components with SIGKILL, and looks for damage: `-- --rounds 25 --seed 1 --runtime
// simulator|xinference|kubernetes`. Real backends need what test:xinference and test:kubernetes need.
import { parseArgs } from 'node:util'
import { openCluster } from './cluster.ts'
import { runCommand } from '../../tools/programs.ts'
import { runSuite } from './suite.ts'
import { installXinference, xinferenceVersions } from './xinference-environment.ts'

const { values } = parseArgs({ strict: false, options: { runtime: { type: 'string' } } })

await runSuite('component-kill', async (cleanUps) => {
  let environment = {}
  if (values.runtime === 'kubernetes') environment = await openCluster(cleanUps)
  if (values.runtime === 'xinference')
    environment = { TEST_XINFERENCE: await installXinference(xinferenceVersions[0]) }
  await runCommand(
    process.execPath,
    ['server/test/chaos/component-kill.ts', ...process.argv.slice(2)],
    environment,
  )
})
