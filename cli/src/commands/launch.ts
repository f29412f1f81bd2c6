import { access, mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { homedir, tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { Deployment } from '../../../console/src/contract.ts'
import { ApiError } from '../api/client.ts'
import type { Client } from '../api/client.ts'
import { connectClient } from '../api/connect.ts'
import { listDeployments, toInput } from '../api/find-deployment.ts'
import { listCatalog } from '../api/list-catalog.ts'
import type { Context } from '../base/context.ts'
import { CommandError } from '../base/errors.ts'
import { requireProgram, runProgram } from '../base/run-program.ts'
import { chooseModel, createKey, openConnection } from './connect.ts'
import { deployAndWait, waitUntilRunning } from './deploy.ts'
import { agentContext, explainRefusal, requireContext, requireTools } from './launch/agent-model.ts'
import { requireChat } from './model-type.ts'
import { programs } from './programs.ts'
import type { Connection, Program } from './programs.ts'
import { withoutSession } from './run.ts'

interface LaunchOptions {
  model?: string
  force?: boolean
  restore?: boolean
}

/** Starts a program on a model of the person's, and the model first if it is not running. */
export async function launch(
  context: Context,
  name: string,
  args: readonly string[],
  { model: wanted, force, restore }: LaunchOptions,
): Promise<void> {
  const program = programs[name]!
  if (restore) return restoreProgram(context, name)
  requireProgram(program.command!, context.env, `Install it with \`${program.installation}\`.`)
  const client = await connectClient(context.env)
  const isAgent = program.isAgent === true && !force
  if (wanted !== undefined) await ensureRunning(context, client, wanted, isAgent)
  const model = await chooseModel(client, wanted)
  requireChat(model.id, model.type)
  if (isAgent) {
    requireTools(model.id, model.capabilities)
    await requireContext(client, model)
  }
  const key = createKey()
  const proxy = await openConnection(context, key)
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
  wanted: string,
  isAgent: boolean,
): Promise<void> {
  const named = (await listDeployments(client, { scope: 'callable', active: true, q: wanted })).filter(
    ({ alias, id, model_name: name, status }) =>
      [alias, id, name].includes(wanted) && status !== 'failed' && status !== 'terminating',
  )
  if (named.some(({ status }) => status === 'running')) return
  const starting = named.find(({ status }) => status !== 'sleeping')
  const [asleep] = named
  if (starting) await waitUntilRunning(client, starting)
  else if (asleep) await wakeAndWait(context, client, asleep)
  else {
    await checkModel(client, wanted, isAgent)
    const options = isAgent ? { minContext: agentContext } : {}
    await deployAndWait(context, client, wanted, options).catch((error: unknown) => {
      throw isAgent ? explainRefusal(error) : error
    })
  }
}

/** Throws, before anything is deployed, if there is no such model or it doesn't suit the program. */
async function checkModel(client: Client, wanted: string, isAgent: boolean): Promise<void> {
  const model = (await listCatalog(client)).find(
    ({ id, model_name: name }) => name === wanted || id === wanted,
  )
  if (model === undefined) {
    const message = `You have no deployment called ${wanted}, and the catalog has no such model.`
    throw new CommandError(`${message} \`berth models\` lists the models.`)
  }
  requireChat(wanted, model.model_type)
  if (isAgent) requireTools(wanted, model.tags)
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
