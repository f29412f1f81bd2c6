// Runs the Xinference runtime against real clusters of Xinference, a supervisor and workers in processes of their own. Installs each
// version from PyPI into a virtual environment (about 6 GB, mostly PyTorch). Needs Python 3.11 as `python3.11` or TEST_PYTHON.
// `-- --version 3.5.0` runs one version; `RECORD=yes` records the shapes of its answers.
import { parseArgs } from 'node:util'
import { installPython } from './python.ts'
import { runCommand, runSuite } from './suite.ts'

const versions = ['3.5.0', '2.12.0']
const engine = 'xllamacpp==2026.10.11549'

await runSuite('xinference', async () => {
  const { values } = parseArgs({ options: { version: { type: 'string' } } })
  for (const version of values.version === undefined ? versions : [values.version]) {
    const environment = await installPython(`xinference-${version}`, [`xinference==${version}`, engine])
    await runCommand('vitest', ['run', '--config', 'vitest.xinference.config.ts'], {
      TEST_XINFERENCE: environment,
      TEST_XINFERENCE_VERSION: version,
    })
  }
})
