import { access, mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { homedir, tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { Deployment, Model } from '../../../console/src/contract.ts'
import { ApiError } from '../api/client.ts'
import type { Client } from '../api/client.ts'
import { connectClient } from '../api/connect.ts'
import { listDeployments, toInput } from '../api/find-deployment.ts'
import type { Context } from '../base/context.ts'
import { CommandError } from '../base/errors.ts'
import { runProgram } from '../base/run-program.ts'
import { chooseModel, createKey, openConnection } from './connect.ts'
import { deployAndWait, waitUntilRunning } from './deploy.ts'
import { programs } from './programs.ts'
import type { Connection, Program } from './programs.ts'
import { withoutSession } from './run.ts'

interface LaunchOptions {
  model?: string
  force?: boolean
  restore?: boolean
}

/** The first prompts of agents have up to 20,000 tokens. */
const agentContext = 32_768

/** Starts a program on a model of the person's, and the model first if it is not running. */
export async function launch(
  context: Context,
  name: string,
  args: readonly string[],
  { model: wanted, force, restore }: LaunchOptions,
): Promise<void> {
  const program = programs[name]!
  if (restore) return restoreProgram(context, name)
  const client = await connectClient(context.env)
  if (wanted !== undefined) await ensureRunning(context, client, program, wanted)
  const model = await chooseModel(client, wanted)
  if (program.isAgent && !force) requireAgentModel(model)
  const key = createKey()
  const { proxy } = await openConnection(context, key, 0)
  const folder = await mkdtemp(join(tmpdir(), 'berth-launch-'))
  try {
    process.exitCode = await start(context, program, folder, { url: proxy.url, key, model }, args)
  } finally {
    proxy.close()
    await rm(folder, { recursive: true, force: true })
  }
}

/** Runs a program with its settings in place. Resolves to its exit code. */
async function start(
  { env }: Context,
  { command, settingsPath, settings, ...program }: Program,
  folder: string,
  connection: Connection,
  given: readonly string[],
): Promise<number> {
  const args = program.args?.(connection) ?? []
  const file = program.file?.(connection)
  if (file) {
    const path = join(folder, file.name)
    await writeFile(path, JSON.stringify(file.content), { mode: 0o600 })
    args.push(file.option, path)
  }
  const path = settingsPath && join(homeOf(env), settingsPath)
  if (path) await replaceSettings(path, `${settings!(connection)}\n`)
  try {
    const added = program.env?.(connection)
    return await runProgram([command!, ...args, ...given], { ...withoutSession(env), ...added })
  } finally {
    if (path) await restoreSettings(path)
  }
}

/** Puts back the settings that a killed launch left behind. */
async function restoreProgram({ env, output }: Context, name: string): Promise<void> {
  const path = programs[name]!.settingsPath
  if (path === undefined) return output.note(`${name} keeps its own settings when it is launched.`)
  const file = join(homeOf(env), path)
  const isRestored = await restoreSettings(file)
  output.note(isRestored ? `${file} is as it was before the launch.` : `${file} was not changed.`)
}

const homeOf = (env: NodeJS.ProcessEnv) => env['HOME'] ?? homedir()

/** Deploys a model without a deployment, wakes one that sleeps, or waits for one that is starting. */
async function ensureRunning(
  context: Context,
  client: Client,
  program: Program,
  wanted: string,
): Promise<void> {
  const named = (await listDeployments(client, 'callable', true)).filter(
    ({ alias, id, model_name: name, status }) => [alias, id, name].includes(wanted) && status !== 'failed',
  )
  if (named.some(({ status }) => status === 'running')) return
  const starting = named.find(({ status }) => status !== 'sleeping')
  const [asleep] = named
  if (starting) await waitUntilRunning(client, starting)
  else if (asleep) await wakeAndWait(context, client, asleep)
  else await deployAndWait(context, client, wanted, program.isAgent ? { minContext: agentContext } : {})
}

/** Wakes a deployment. One that this person may only call is woken by the program's first request. */
async function wakeAndWait({ output }: Context, client: Client, { id }: Deployment): Promise<void> {
  try {
    const woken = await client.call('POST', '/api/v1/model-deployments/{deployment_id}/wake', toInput(id))
    output.note(`Waking deployment ${id}.`)
    await waitUntilRunning(client, woken)
  } catch (error) {
    if (!(error instanceof ApiError && [403, 404].includes(error.status))) throw error
  }
}

/** Throws if an agent would fail with the model, in ways that are hard to understand. */
function requireAgentModel({ id, max_model_len: context, capabilities }: Model): void {
  const anyway = 'Use --force to start anyway.'
  if (context !== null && context < agentContext) {
    throw new CommandError(
      `${id} serves ${context} tokens, and agents need ${agentContext}. Deploy it with --min-context ${agentContext}, or choose another model. ${anyway}`,
    )
  }
  if (!capabilities.includes('tools')) {
    throw new CommandError(`${id} can't call tools, which agents need. Choose another model. ${anyway}`)
  }
}

const exists = (path: string) =>
  access(path).then(
    () => true,
    () => false,
  )

/** Where the person's own file waits while a program runs. An empty one stands for no file. */
const backupOf = (path: string) => `${path}.before-berth`

/** Replaces a settings file and keeps the original, also after a killed launch left a backup behind. */
async function replaceSettings(path: string, content: string): Promise<void> {
  const backup = backupOf(path)
  await mkdir(dirname(path), { recursive: true })
  if (!(await exists(backup))) {
    if (await exists(path)) await rename(path, backup)
    else await writeFile(backup, '')
  }
  await writeFile(path, content, { mode: 0o600 })
}

/** Puts back what `replaceSettings` replaced. Resolves to false if nothing was replaced. */
async function restoreSettings(path: string): Promise<boolean> {
  const backup = backupOf(path)
  const before = await readFile(backup, 'utf8').catch(() => null)
  if (before === null) return false
  if (before === '') await Promise.all([rm(path, { force: true }), rm(backup)])
  else await rename(backup, path)
  return true
}
