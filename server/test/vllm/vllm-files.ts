import { chmodSync, readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { HubRepository } from '../support/hub/hub-server.ts'

/** The files of a folder as a repository of the Hub. */
export function readRepository(folder: string): HubRepository {
  const files = readdirSync(folder).map((name) => [name, readFileSync(join(folder, name))] as const)
  return { commit: 'c'.repeat(40), files: Object.fromEntries(files) }
}

/**
 * Writes a command that runs vLLM from a virtual environment without compiling, which takes minutes for the
 * CPU. Returns its path.
 */
export function writeVllmCommand(folder: string, environment: string): string {
  const command = join(folder, 'vllm')
  // Berth asks the Python in the first line for the version of vLLM.
  writeFileSync(
    command,
    `#!${environment}/bin/python
import os, sys
program = '${environment}/bin/vllm'
os.execv(program, [program, *sys.argv[1:], '--enforce-eager'])
`,
  )
  chmodSync(command, 0o755)
  return command
}
