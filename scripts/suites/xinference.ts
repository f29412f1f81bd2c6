// Runs the Xinference runtime against real clusters: supervisor and workers in separate processes. Installs
// each version (about 6 GB, mostly PyTorch). Needs Python 3.11 as `python3.11` or TEST_PYTHON. Runs one
// version with `-- --version 3.5.0`; records the shapes of responses with `RECORD=yes`.
import { parseArgs } from 'node:util'
import { runCommand } from '../../tools/programs.ts'
import { runSuite } from './suite.ts'
import { installXinference, xinferenceVersions } from './xinference-environment.ts'

await runSuite('xinference', async () => {
  const { values } = parseArgs({ options: { version: { type: 'string' } } })
  for (const version of values.version === undefined ? xinferenceVersions : [values.version]) {
    const environment = await installXinference(version)
    await runCommand('vitest', ['run', '--project', 'xinference'], {
      TEST_XINFERENCE: environment,
      TEST_XINFERENCE_VERSION: version,
    })
  }
})
