import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { findCacheFolder, runCommand } from './programs.ts'

/** The Python of the virtual environments. */
const python = process.env['TEST_PYTHON'] ?? 'python3.11'

/** Explains why this machine can't make virtual environments, or null. */
export function explainMissingPython(): string | null {
  const { status } = spawnSync(python, ['-c', 'import ensurepip, venv'], { stdio: 'ignore' })
  if (status === 0) return null
  return `${python} is missing or has no venv. Install Python 3.11 with venv, or set TEST_PYTHON to one.`
}

/**
 * Installs packages into a virtual environment of `TEST_PYTHON`, default `python3.11`, once per `name`.
 * Returns its folder. `overrides` replace requirements. Uses uv, because pip takes minutes to resolve them.
 */
export async function installPython(
  name: string,
  packages: readonly string[],
  overrides: readonly string[] = [],
): Promise<string> {
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
      // Some programs import thousands of modules.
      '--compile-bytecode',
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
