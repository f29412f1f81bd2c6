import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { findCacheFolder, runCommand } from './suite.ts'

/**
 * Installs packages into a virtual environment of `TEST_PYTHON`, default `python3.11`, once per `name`, and returns its folder.
 * `overrides` replace requirements of the packages. Uses uv, because pip searches for minutes until all requirements agree.
 */
export async function installPython(
  name: string,
  packages: readonly string[],
  overrides: readonly string[] = [],
): Promise<string> {
  const python = process.env['TEST_PYTHON'] ?? 'python3.11'
  const environment = findCacheFolder(name)
  const mark = join(environment, '.complete')
  if (existsSync(mark)) return environment
  await runCommand(python, ['-m', 'venv', environment])
  await runCommand(join(environment, 'bin/pip'), ['install', '--quiet', 'uv'])
  const overridesFile = join(environment, 'overrides.txt')
  await writeFile(overridesFile, overrides.join('\n'))
  const certificates = process.env['PIP_CERT']
  await runCommand(
    join(environment, 'bin/uv'),
    [
      'pip',
      'install',
      '--quiet',
      '--overrides',
      overridesFile,
      '--python',
      join(environment, 'bin/python'),
      ...packages,
    ],
    certificates === undefined ? {} : { SSL_CERT_FILE: certificates },
  )
  await writeFile(mark, '')
  return environment
}
