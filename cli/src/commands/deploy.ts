import { setTimeout as delay } from 'node:timers/promises'
import type { Deployment } from '../../../console/src/contract.ts'
import type { Client } from '../api/client.ts'
import { connectClient } from '../api/connect.ts'
import { findLive, toInput } from '../api/find-deployment.ts'
import { Patience } from '../api/patience.ts'
import type { Context } from '../base/context.ts'
import { CommandError, messageOf } from '../base/errors.ts'
import { Progress } from '../base/progress.ts'
import { asSentence } from '../base/text.ts'
import { describeUse } from './model-type.ts'
import { toPolicyChange } from './policy.ts'
import type { IdleMinutes } from './policy.ts'
import { adviseOnRefusal, toDeploymentRequest } from './variant.ts'
import type { VariantOptions } from './variant.ts'

interface DeployOptions extends VariantOptions {
  wait?: boolean
  alias?: string
  aliasOrder?: number
  idleMinutes?: IdleMinutes
  maxInstances?: number
  share?: boolean
}

const pollInterval = 500

/** Deploys a model. With --wait, follows it until it serves requests. */
export async function deploy({ env, output }: Context, model: string, options: DeployOptions): Promise<void> {
  const client = await connectClient(env)
  const body = { ...toDeploymentRequest(model, options), alias: options.alias }
  let deployment = await requestDeployment(client, body).catch(adviseOnRefusal)
  deployment = await setUp(client, deployment, options)
  if (options.wait) {
    output.note(`Waiting for deployment ${deployment.id}. Ctrl-C ends the wait, not the deployment.`)
    deployment = await waitUntilRunning(client, deployment)
  }
  output.result(deployment, () => {
    output.line(deployment.id)
    if (options.wait)
      output.note(`${model} is running. ${describeUse(options.alias ?? model, deployment.model_type)}`)
    else output.note(`${model} is starting. \`berth events -f ${deployment.id}\` follows it.`)
  })
}

function requestDeployment(
  client: Client,
  body: ReturnType<typeof toDeploymentRequest> & { alias?: string | undefined },
): Promise<Deployment> {
  return client.create('/api/v1/model-deployments', { body }, (made) => findLive(client, made))
}

/** Sets what a new deployment gets only by a change. */
async function setUp(client: Client, deployment: Deployment, options: DeployOptions): Promise<Deployment> {
  const { aliasOrder, idleMinutes, maxInstances, share } = options
  const set = {
    '--alias-order': aliasOrder,
    '--idle-minutes': idleMinutes,
    '--max-instances': maxInstances,
    '--share': share,
  }
  const names = Object.entries(set).flatMap(([name, value]) => (value === undefined ? [] : [name]))
  if (names.length === 0) return deployment
  const path = { deployment_id: deployment.id }
  const sharing = share ? ({ shared_with: 'organization' } as const) : {}
  const order = aliasOrder === undefined ? {} : { alias_order: aliasOrder }
  const body = { ...order, ...sharing, ...toPolicyChange({ idleMinutes, max: maxInstances }) }
  try {
    return await client.call('PATCH', '/api/v1/model-deployments/{deployment_id}', { path, body })
  } catch (error) {
    throw new CommandError(
      `Deployment ${deployment.id} is starting without ${names.join(' and ')}: ${messageOf(error)}`,
    )
  }
}

/** Deploys a model, and waits until it serves requests. */
export async function deployAndWait(
  { output }: Context,
  client: Client,
  model: string,
  options: VariantOptions,
): Promise<void> {
  const deployment = await requestDeployment(client, toDeploymentRequest(model, options))
  output.note(`Waiting for deployment ${deployment.id}. Ctrl-C ends the wait, not the deployment.`)
  await waitUntilRunning(client, deployment)
}

/** Waits until a deployment serves requests. Throws if it fails or ends. */
export async function waitUntilRunning(client: Client, { id }: Pick<Deployment, 'id'>): Promise<Deployment> {
  const progress = new Progress()
  const patience = new Patience((text) => progress.show(text))
  try {
    for (;;) {
      const deployment = await patience.call(() =>
        client.call('GET', '/api/v1/model-deployments/{deployment_id}', toInput(id)),
      )
      if (deployment.status === 'running') return deployment
      rejectStopped(deployment)
      progress.show(describeProgress(deployment), deployment.progress)
      await delay(pollInterval)
    }
  } finally {
    progress.close()
  }
}

function rejectStopped({ id, status, status_message: message, failure_reason: reason }: Deployment): void {
  if (status === 'sleeping') {
    throw new CommandError(`Deployment ${id} sleeps. ${message ?? `\`berth wake ${id}\` wakes it.`}`)
  }
  if (status === 'failed') {
    throw new CommandError(
      `Deployment ${id} failed: ${asSentence(reason ?? 'no reason is known')} \`berth logs ${id}\` may show why.`,
    )
  }
  if (status === 'terminating' || status === 'terminated') {
    throw new CommandError(`Deployment ${id} was terminated before it served requests.`)
  }
}

function describeProgress({ status, status_message: message }: Deployment): string {
  return message === null ? `${status}…` : `${status}: ${message}`
}
