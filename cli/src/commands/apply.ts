import { connectClient } from '../api/connect.ts'
import { matchDeployments } from '../apply/match-deployments.ts'
import { performStep } from '../apply/perform.ts'
import { planSteps } from '../apply/plan.ts'
import type { Step } from '../apply/plan.ts'
import { priceSteps } from '../apply/price-steps.ts'
import { printPlan } from '../apply/print-plan.ts'
import { readApplyFile } from '../apply/read-file.ts'
import type { ReadFile } from '../apply/read-file.ts'
import { readServerState } from '../apply/server-state.ts'
import { toFile, writeYaml } from '../apply/write-file.ts'
import type { Client } from '../api/client.ts'
import { ApiError } from '../api/client.ts'
import type { Context } from '../base/context.ts'
import { CommandError, exitCodes } from '../base/errors.ts'
import { confirm, isInteractive } from '../base/prompt.ts'
import { waitUntilRunning } from './deploy.ts'

interface ApplyOptions {
  file: string
  prune?: boolean
  dryRun?: boolean
  wait?: boolean
}

/** Makes the server have what a file says. */
export async function apply(
  { env, output }: Context,
  { file: path, prune = false, dryRun = false, wait = false }: ApplyOptions,
): Promise<void> {
  const file = await readApplyFile(path)
  const client = await connectClient(env)
  const state = await readServerState(client)
  const steps = planSteps(file, state, { prune })
  printPlan(output, steps, await priceSteps(client, file, steps))
  if (dryRun) {
    if (steps.length > 0) process.exitCode = exitCodes.differs
    return
  }
  if (steps.length > 0 && isInteractive() && !(await confirm('Apply these changes?')))
    throw new CommandError('Nothing was changed.', exitCodes.interrupted)
  const work = {
    client,
    manager: file.content.name,
    state,
    waitUntilRunning: wait ? (deployment: { id: string }) => waitUntilRunning(client, deployment) : null,
  }
  for (const step of steps)
    await performStep(work, step).catch((error: unknown) => explain(error, step, file))
  if (wait) await waitForAll(client, file)
  if (steps.length > 0) output.note('Applied.')
}

/** Shows what `apply` would change. */
export function diff(context: Context, options: Omit<ApplyOptions, 'dryRun' | 'wait'>): Promise<void> {
  return apply(context, { ...options, dryRun: true })
}

/** Adds the place in the file to a refusal of the server. Throws other errors unchanged. */
function explain(error: unknown, { path, kind, name }: Step, { fail }: ReadFile): never {
  if (!(error instanceof ApiError)) throw error
  error.message =
    path.length === 0 ? `The ${kind} ${name} stays: ${error.message}` : fail(path, error.message).message
  throw error
}

/** Waits for the deployments of the file that don't sleep. */
async function waitForAll(client: Client, file: ReadFile): Promise<void> {
  for (const { present } of matchDeployments(file, await readServerState(client)).values())
    if (present !== null && present.status !== 'sleeping') await waitUntilRunning(client, present)
}

/** Prints the file of what the server has. */
export async function exportFile({ env, output }: Context, { name }: { name: string }): Promise<void> {
  const client = await connectClient(env)
  const { content, omitted } = toFile(await readServerState(client), name)
  output.result(content, () =>
    process.stdout.write(writeYaml(content, `${client.url}/downloads/berth.schema.json`)),
  )
  for (const each of omitted) output.note(`Left out: ${each}.`)
}
