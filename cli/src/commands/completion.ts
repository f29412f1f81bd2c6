import tab from '@bomb.sh/tab/commander'
import type { Command } from 'commander'
import type { Client } from '../api/client.ts'
import { connectClient } from '../api/connect.ts'
import { listDeployments } from '../api/find-deployment.ts'
import { listCatalog } from '../api/list-catalog.ts'

/** How long a person waits for the names at the Tab key, in milliseconds */
const patience = 5_000

/** bash-completion has the function. Without this package, words are also split at = and :. */
const bashFallback = `if ! declare -F _get_comp_words_by_ref >/dev/null; then
  _get_comp_words_by_ref() {
    words=("\${COMP_WORDS[@]}") cword=$COMP_CWORD
    cur=\${COMP_WORDS[COMP_CWORD]} prev=\${COMP_WORDS[COMP_CWORD - 1]}
  }
fi
`

/** Adds the commands `completion`, which prints a script, and `complete`, which the script calls. */
export async function addCompletion(
  program: Command,
  [name, ...words]: readonly string[],
  env: NodeJS.ProcessEnv,
): Promise<void> {
  if (name === 'completion' && words[0] === 'bash') process.stdout.write(bashFallback)
  const { commands } = tab(program, { completionCommandName: 'completion' })
  if (name !== 'complete') return
  const [command = ''] = words[0] === '--' ? words.slice(1) : words
  const list = lists[command]
  const completed = commands.get(command)
  if (list === undefined || completed === undefined) return
  const names = await listNames(list, env)
  const handler = (complete: (name: string, description: string) => void) => {
    for (const each of names) complete(each, '')
  }
  for (const each of [...completed.arguments.values(), ...completed.options.values()]) {
    if (named.has('name' in each ? each.name : each.value)) each.handler = handler
  }
}

/** The arguments and options that name a deployment or a model */
const named = new Set(['deployment', 'model', 'search', 'base'])

type List = (client: Client, signal: AbortSignal) => Promise<string[]>

/** Aliases, models that only one deployment has, and the ids of the others */
const listDeploymentNames: List = async (client, signal) => {
  const deployments = await listDeployments(client, { scope: 'callable', active: true }, signal)
  return deployments.map(({ id, alias, model_name: model }) => {
    const isAlone = deployments.every((each) => each.id === id || each.model_name !== model)
    return alias ?? (isAlone ? model : id)
  })
}

const listRunningModels: List = async (client, signal) =>
  (await client.call('GET', '/v1/models', { signal })).data.map(({ id }) => id)

const listDeployable: List = async (client, signal) =>
  (await listCatalog(client, { signal })).map(({ model_name: name }) => name)

const listLaunchable: List = async (client, signal) =>
  (await Promise.all([listRunningModels(client, signal), listDeployable(client, signal)])).flat()

/** What each command takes: as its argument, --model or --base */
const lists: Readonly<Record<string, List>> = {
  ...Object.fromEntries(
    ['show', 'events', 'logs', 'sleep', 'wake', 'scale', 'adapters', 'share', 'rm'].map((command) => [
      command,
      listDeploymentNames,
    ]),
  ),
  chat: listRunningModels,
  embed: listRunningModels,
  connect: listRunningModels,
  launch: listLaunchable,
  models: listDeployable,
  plan: listDeployable,
  deploy: listDeployable,
  import: listDeployable,
  upload: listDeployable,
}

/** The names of a list; none without a session or a server. */
async function listNames(list: List, env: NodeJS.ProcessEnv): Promise<string[]> {
  try {
    return await list(await connectClient(env), AbortSignal.timeout(patience))
  } catch {
    return []
  }
}
