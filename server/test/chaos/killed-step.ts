import { spawn } from 'node:child_process'
import { resolve } from 'node:path'
import { childEnvironment } from '../support/process.ts'

const child = resolve(import.meta.dirname, 'killed-step-child.ts')

export interface StepOrganization {
  organizationId: number
  userId: number
  email: string
  organizationName: string
}

/**
 * A step that another process runs, and at which query it is killed. The arguments of `killed-step-child.ts`.
 */
export interface KilledStep {
  /** The file next to this one whose `steps` has the step */
  file: 'billing-steps.ts' | 'budget-steps.ts' | 'repeat-steps.ts'
  step: string
  organization: StepOrganization
  /** The process's clock: it stands still, or is ahead by milliseconds */
  clock: { at: string } | { ahead: number }
  /** The query before which the process is killed; null to run to the end and print the number of queries */
  killBefore: number | null
}

/**
 * Runs a step in a server process that gets kill -9 before a query. Resolves to whether it died; its output
 * is the number of queries.
 */
export function runKilledStep(
  settings: Readonly<Record<string, string>>,
  input: KilledStep,
): Promise<{ died: boolean; output: string }> {
  const spawned = spawn(process.execPath, [child, JSON.stringify(input)], {
    env: { ...childEnvironment(), ...settings },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const { promise, resolve: end, reject } = Promise.withResolvers<{ died: boolean; output: string }>()
  let output = ''
  let errors = ''
  spawned.stdout.setEncoding('utf8').on('data', (text: string) => (output += text))
  spawned.stderr.setEncoding('utf8').on('data', (text: string) => (errors += text))
  spawned.once('error', reject)
  spawned.once('close', (code, signal) => {
    if (signal === 'SIGKILL' || code === 0) end({ died: signal === 'SIGKILL', output })
    else reject(new Error(`The process ended with ${signal ?? code}: ${errors}`))
  })
  return promise
}
