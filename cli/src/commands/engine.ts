import { writeEngineOptions } from '../../../console/src/engine-options.ts'
import { connectClient } from '../api/connect.ts'
import { findDeployment, toInput } from '../api/find-deployment.ts'
import type { Deployment } from '../../../console/src/contract.ts'
import type { Context } from '../base/context.ts'
import { CommandError } from '../base/errors.ts'
import { cleanText } from '../base/text.ts'
import { readEngineOptions } from './variant.ts'

/** Shows the engine of a deployment, replaces its options with those that are named, or updates it. */
export async function engine(
  { env, output }: Context,
  wanted: string,
  options: readonly string[],
  { update }: { update?: string | true },
): Promise<void> {
  const client = await connectClient(env)
  const found = await findDeployment(client, wanted)
  const body = {
    ...(options.length > 0 && { engine_options: toOptions(options) }),
    ...(update !== undefined && { engine_version: update === true ? findUpdate(found) : update }),
  }
  const deployment =
    Object.keys(body).length === 0
      ? found
      : await client.call('PATCH', '/api/v1/model-deployments/{deployment_id}', {
          ...toInput(found.id),
          body,
        })
  const { engine: running, engine_options: set, status_message: message } = deployment
  output.result({ engine: running, engine_options: set }, () => {
    output.facts([
      ['Engine', running === null ? null : `${running.name} ${running.version ?? ''}`.trim()],
      ['Update', running?.update ?? null],
      ['Options', writeEngineOptions(set).join(' ') || 'none'],
    ])
    if (message !== null) output.note(cleanText(message))
  })
}

function toOptions(options: readonly string[]) {
  return options.length === 1 && options[0] === 'none' ? {} : readEngineOptions(options)
}

function findUpdate({ engine: running }: Deployment): string {
  if (running?.update != null) return running.update
  throw new CommandError('There is no newer version of the engine.')
}
