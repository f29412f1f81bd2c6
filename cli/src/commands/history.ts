import type { DeploymentEvent, DeploymentLogLine } from '../../../console/src/contract.ts'
import { connectClient } from '../api/connect.ts'
import { findDeployment, toInput } from '../api/find-deployment.ts'
import { follow } from '../api/follow.ts'
import type { Context } from '../base/context.ts'
import type { Output } from '../base/output.ts'
import { cleanText } from '../base/text.ts'

/** Shows the events of a deployment. Following ends when the deployment does. */
export async function events(
  { env, output }: Context,
  wanted: string,
  options: { follow?: boolean },
): Promise<void> {
  const client = await connectClient(env)
  const { id } = await findDeployment(client, wanted)
  const path = '/api/v1/model-deployments/{deployment_id}/events'
  const input = toInput(id)
  if (!options.follow) {
    const { items } = await client.call('GET', path, input)
    return output.result(items, () => items.forEach((event) => printEvent(output, event)))
  }
  let last = 0
  for await (const event of follow(client, path, input, { note: (text) => output.note(text) })) {
    if (event.id <= last) continue
    last = event.id
    printEvent(output, event)
    if (event.status === 'failed' || event.status === 'terminated') return
  }
}

function printEvent(output: Output, event: DeploymentEvent): void {
  const { at, status, message, transition } = event
  const begins = transition?.phases === null ? transition.type : null
  output.event(event, `${output.colors.dim(at)}  ${(begins ?? status).padEnd(12)}  ${cleanText(message)}`)
}

/** Shows the last lines of an engine's log. */
export async function logs(
  { env, output }: Context,
  wanted: string,
  options: { follow?: boolean; tail?: number; instance?: string },
): Promise<void> {
  const client = await connectClient(env)
  const { id } = await findDeployment(client, wanted)
  const path = '/api/v1/model-deployments/{deployment_id}/logs'
  const { path: parameters, query } = toInput(id)
  const { tail, instance } = options
  const input = { path: parameters, query: { ...query, tail, instance } }
  const print = (line: DeploymentLogLine) => output.event(line, cleanText(line.line))
  if (!options.follow) {
    const { items } = await client.call('GET', path, input)
    return output.result(items, () => items.forEach(print))
  }
  const replay = new ReplayFilter()
  const note = (text: string) => output.note(text)
  for await (const line of follow(client, path, input, { note, onReconnect: () => replay.begin() })) {
    if (replay.isNew(line)) print(line)
  }
}

/** Leaves out the lines that a stream repeats after a reconnection. */
class ReplayFilter {
  #replaying = false
  #last = ''
  /** The lines with the last time */
  #lines: string[] = []
  #repeated: string[] = []

  /** The stream begins again. */
  begin(): void {
    this.#replaying = true
    this.#repeated = [...this.#lines]
  }

  isNew({ at, line }: DeploymentLogLine): boolean {
    if (this.#replaying) {
      if (at < this.#last) return false
      const index = at === this.#last ? this.#repeated.indexOf(line) : -1
      if (index !== -1) return this.#repeated.splice(index, 1).length === 0
      this.#replaying = at === this.#last
    }
    if (at !== this.#last) [this.#last, this.#lines] = [at, []]
    this.#lines.push(line)
    return true
  }
}
