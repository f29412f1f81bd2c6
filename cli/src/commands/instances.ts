import { setTimeout as delay } from 'node:timers/promises'
import type { Deployment } from '../../../console/src/contract.ts'
import type { Client } from '../api/client.ts'
import { connectClient } from '../api/connect.ts'
import { findDeployment, toInput } from '../api/find-deployment.ts'
import { Patience } from '../api/patience.ts'
import type { Context } from '../base/context.ts'
import { CommandError, usageError } from '../base/errors.ts'
import { Progress } from '../base/progress.ts'
import { waitUntilRunning } from './deploy.ts'
import { describePolicy, describeSchedules, toPolicyChange } from './policy.ts'
import type { PolicyOptions } from './policy.ts'

interface WaitOptions {
  wait?: boolean
}

const pollInterval = 500

/** Puts a deployment to sleep. With --wait, follows it until its hardware is released. */
export async function sleep({ env, output }: Context, wanted: string, { wait }: WaitOptions): Promise<void> {
  const client = await connectClient(env)
  const { id } = await findDeployment(client, wanted)
  let deployment = await client.call('POST', '/api/v1/model-deployments/{deployment_id}/sleep', toInput(id))
  if (wait) deployment = await waitUntilAsleep(client, deployment)
  output.result(deployment, () => {
    const state = deployment.status === 'sleeping' ? 'sleeps' : 'finishes its requests, then sleeps'
    output.note(`${deployment.model_name} ${state}. The next request wakes it.`)
  })
}

/** Wakes a deployment. With --wait, follows it until it serves requests. */
export async function wake({ env, output }: Context, wanted: string, { wait }: WaitOptions): Promise<void> {
  const client = await connectClient(env)
  const { id } = await findDeployment(client, wanted)
  let deployment = await client.call('POST', '/api/v1/model-deployments/{deployment_id}/wake', toInput(id))
  if (wait) deployment = await waitUntilRunning(client, deployment)
  output.result(deployment, () => {
    const isAwake = deployment.status === 'running'
    const follow = `wakes up. \`berth events -f ${id}\` follows it.`
    output.note(`${deployment.model_name} ${isAwake ? 'is running.' : follow}`)
  })
}

/** Changes the policy of a deployment. */
export async function scale({ env, output }: Context, wanted: string, options: PolicyOptions): Promise<void> {
  const body = toPolicyChange(options)
  if (Object.keys(body).length === 0)
    throw usageError(
      'Choose --min, --max, --concurrency, --idle-minutes, --schedule, --yields or --cache-scope.',
    )
  const client = await connectClient(env)
  const { id } = await findDeployment(client, wanted)
  const deployment = await client.call('PATCH', '/api/v1/model-deployments/{deployment_id}', {
    ...toInput(id),
    body,
  })
  output.result(deployment, () => {
    output.note(`${deployment.model_name}: ${describePolicy(deployment)}.`)
    for (const schedule of describeSchedules(deployment)) output.note(schedule)
  })
}

/** Waits until a deployment has no instance. Throws if it wakes up before, or ends. */
async function waitUntilAsleep(client: Client, { id }: Deployment): Promise<Deployment> {
  const progress = new Progress()
  const patience = new Patience((text) => progress.show(text))
  let isDraining = false
  try {
    for (;;) {
      const deployment = await patience.call(() =>
        client.call('GET', '/api/v1/model-deployments/{deployment_id}', toInput(id)),
      )
      const { status, instances } = deployment
      if (status === 'sleeping') return deployment
      const wasDraining = isDraining
      isDraining = instances.every((each) => each.status === 'draining' || each.status === 'releasing')
      if (status !== 'running' || (wasDraining && !isDraining)) {
        throw new CommandError(
          `Deployment ${id} does not sleep: it is ${status}. \`berth events ${id}\` shows why.`,
        )
      }
      progress.show(deployment.status_message ?? 'Falling asleep…')
      await delay(pollInterval)
    }
  } finally {
    progress.close()
  }
}
