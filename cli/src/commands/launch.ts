import type { Model } from '../../../console/src/contract.ts'
import type { Client } from '../api/client.ts'
import { connectClient } from '../api/connect.ts'
import { listDeployments } from '../api/find-deployment.ts'
import type { Context } from '../base/context.ts'
import { CommandError } from '../base/errors.ts'
import { runProgram } from '../base/run-program.ts'
import { createKey, openConnection } from './connect.ts'
import { chooseModel } from './connect/choose-model.ts'
import { deployAndWait, waitUntilRunning } from './deploy.ts'
import { launchers } from './launch/launchers.ts'
import type { Launcher } from './launch/launchers.ts'
import { withoutSession } from './run.ts'

interface LaunchOptions {
  model?: string
  force?: boolean
}

/** The first prompts of agents have up to 20,000 tokens. */
const agentContext = 32_768

/** Starts a program on a model of the person's, and the model first if it is not running. */
export async function launch(
  context: Context,
  name: string,
  args: readonly string[],
  { model: wanted, force }: LaunchOptions,
): Promise<void> {
  const launcher = launchers[name]!
  const client = await connectClient(context.env)
  if (wanted !== undefined) await ensureRunning(context, client, launcher, wanted)
  const model = await chooseModel(client, wanted)
  if (launcher.isAgent && !force) requireAgentModel(model)
  const key = createKey()
  const { proxy } = await openConnection(context, key, 0)
  const started = launcher.describe({ url: proxy.url, key, model })
  const env = { ...withoutSession(context.env), ...started.env }
  try {
    process.exitCode = await runProgram([launcher.command, ...started.args, ...args], env)
  } finally {
    proxy.close()
  }
}

/** Deploys a model that is not running, or waits for the deployment that is starting. */
async function ensureRunning(
  context: Context,
  client: Client,
  launcher: Launcher,
  wanted: string,
): Promise<void> {
  const { data } = await client.call('GET', '/v1/models')
  if (data.some(({ id, deployments }) => id === wanted || deployments.includes(wanted))) return
  const starting = (await listDeployments(client, 'callable', true)).find(
    ({ alias, id, model_name: name, status }) => [alias, id, name].includes(wanted) && status !== 'failed',
  )
  if (starting) await waitUntilRunning(client, starting)
  else await deployAndWait(context, client, wanted, launcher.isAgent ? { minContext: agentContext } : {})
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
