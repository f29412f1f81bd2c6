// Runs the Xinference runtime against real clusters of Xinference, a supervisor and workers in processes of their own. Installs each
// version from PyPI into a virtual environment (about 6 GB, mostly PyTorch). Needs Python 3.11 as `python3.11` or TEST_PYTHON.
// `-- --version 3.5.0` runs one version; `RECORD=yes` records the shapes of its answers.
import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { findCacheFolder, runCommand, runSuite } from './suite.ts'

const versions = ['3.5.0', '2.12.0']
const engine = 'xllamacpp==2026.10.11549'

await runSuite('xinference', async () => {
  const { values } = parseArgs({ options: { version: { type: 'string' } } })
  for (const version of values.version === undefined ? versions : [values.version]) {
    const environment = await install(version)
    await runCommand('vitest', ['run', '--config', 'vitest.xinference.config.ts'], {
      TEST_XINFERENCE: environment,
      TEST_XINFERENCE_VERSION: version,
    })
  }
})

/** Installs a version with uv, because pip searches for minutes until all requirements agree. */
async function install(version: string): Promise<string> {
  const python = process.env['TEST_PYTHON'] ?? 'python3.11'
  const environment = findCacheFolder(`xinference-${version}`)
  const mark = join(environment, '.complete')
  if (existsSync(mark)) return environment
  await runCommand(python, ['-m', 'venv', environment])
  const uv = join(environment, 'bin/uv')
  const certificates = process.env['PIP_CERT']
  await runCommand(join(environment, 'bin/pip'), ['install', '--quiet', 'uv'])
  await runCommand(
    uv,
    [
      'pip',
      'install',
      '--quiet',
      '--python',
      join(environment, 'bin/python'),
      `xinference==${version}`,
      engine,
    ],
    certificates === undefined ? {} : { SSL_CERT_FILE: certificates },
  )
  await writeFile(mark, '')
  return environment
}
