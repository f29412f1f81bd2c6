/** What a supervisor answers: the status, and the types of all fields that Berth could read. */
export type Answers = Record<string, { status: number; shape: unknown }>

const questions: [name: string, method: string, path: string][] = [
  ['version', 'GET', '/v1/cluster/version'],
  ['info', 'GET', '/v1/cluster/info?detailed=true'],
  ['status', 'GET', '/status'],
  ['models', 'GET', '/v1/models'],
  ['engines', 'GET', '/v1/engines/LLM/berth-tiny'],
  ['engines of an unknown model', 'GET', '/v1/engines/LLM/unknown'],
  ['model', 'GET', '/v1/models/{uid}'],
  ['instances', 'GET', '/v1/models/instances?model_uid={uid}'],
  ['replicas', 'GET', '/v1/models/{uid}/replicas'],
  ['progress', 'GET', '/v1/models/{uid}/progress'],
  ['events', 'GET', '/v1/models/{uid}/events'],
  ['unknown model', 'GET', '/v1/models/unknown'],
  ['progress of an unknown model', 'GET', '/v1/models/unknown/progress'],
  ['replicas of an unknown model', 'GET', '/v1/models/unknown/replicas'],
  ['events of an unknown model', 'GET', '/v1/models/unknown/events'],
  ['cancel an unknown model', 'POST', '/v1/models/unknown/cancel'],
  ['terminate an unknown model', 'DELETE', '/v1/models/unknown'],
  ['terminate', 'DELETE', '/v1/models/{uid}'],
  ['instances after the end', 'GET', '/v1/models/instances?model_uid={uid}'],
]

/** Asks a supervisor all questions about a running model, and ends the model. */
export async function collectAnswers(url: string, uid: string): Promise<Answers> {
  const answers: Answers = {}
  for (const [name, method, path] of questions) {
    const response = await fetch(`${url}${path.replace('{uid}', uid)}`, { method })
    answers[name] = { status: response.status, shape: toShape(await response.json()) }
  }
  return answers
}

/**
 * Replaces values by their types. Lists keep their first item; objects whose keys are addresses keep their
 * first value.
 */
function toShape(value: unknown): unknown {
  if (value === null) return 'null'
  if (Array.isArray(value)) return value.length === 0 ? [] : [toShape(value[0])]
  if (typeof value !== 'object') return typeof value
  const entries = Object.entries(value).map(([key, item]) => [
    /:\d+$/.test(key) ? 'address' : key,
    toShape(item),
  ])
  return Object.fromEntries(entries)
}

/**
 * Lists what a double answers differently: another status, another type, or a field that the real component
 * does not send.
 */
export function findDifferences(real: Answers, double: Answers): string[] {
  return Object.keys(real).flatMap((name) => {
    const [expected, seen] = [real[name], double[name]]
    if (expected?.status !== seen?.status)
      return [`${name}: status ${seen?.status} instead of ${expected?.status}`]
    return compare(name, expected?.shape, seen?.shape)
  })
}

function compare(path: string, real: unknown, double: unknown): string[] {
  if (Array.isArray(real) && Array.isArray(double)) {
    return real.length === 0 || double.length === 0 ? [] : compare(`${path}[]`, real[0], double[0])
  }
  if (isObject(real) && isObject(double)) {
    return Object.entries(double).flatMap(([key, value]) =>
      key in real ? compare(`${path}.${key}`, real[key], value) : [`${path}.${key} does not exist`],
    )
  }
  return real === double ? [] : [`${path}: ${JSON.stringify(double)} instead of ${JSON.stringify(real)}`]
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
